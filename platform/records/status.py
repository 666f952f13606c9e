"""The closed vocabularies: status, level, depth, languages, devices, entries, review states."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a judgement ended. Timings exist only for ``PASSED`` at level ``measured``."""

    PASSED = "PASSED"
    WRONG_SHAPE = "WRONG_SHAPE"
    WRONG_DTYPE = "WRONG_DTYPE"
    WRONG_VALUES = "WRONG_VALUES"
    NONFINITE = "NONFINITE"
    COMPILE_ERROR = "COMPILE_ERROR"
    RUNTIME_ERROR = "RUNTIME_ERROR"
    TIMEOUT = "TIMEOUT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    UNSTABLE = "UNSTABLE"
    CHEATED = "CHEATED"
    IMPLAUSIBLE = "IMPLAUSIBLE"
    POLICY = "POLICY"
    REFERENCE_BROKEN = "REFERENCE_BROKEN"
    UNJUDGED = "UNJUDGED"


class Level(StrEnum):
    """What kind of evidence an Evaluation is. Levels are never ranked against each other."""

    MEASURED = "measured"
    EMULATED = "emulated"
    COMPILED = "compiled"


class Depth(StrEnum):
    """How thorough a judgement is. Only ``confirmed`` is claimed, shipped or learned from."""

    SCREEN = "screen"
    FULL = "full"
    CONFIRMED = "confirmed"


class LanguageName(StrEnum):
    """The languages a Candidate can be written in."""

    TORCH = "torch"
    CPP = "cpp"
    HALIDE = "halide"
    CUDA = "cuda"
    CUTE = "cute"
    CUTE_DSL = "cute_dsl"
    THUNDERKITTENS = "thunderkittens"
    TRITON = "triton"
    TILELANG = "tilelang"


class Entry(StrEnum):
    """How a Candidate is entered: a C function, a ``ModelNew`` module, or a Halide algorithm with Directives."""

    C = "c"
    MODULE = "module"
    PIPELINE = "pipeline"


class DeviceKind(StrEnum):
    """Where a Candidate runs: measured (cpu, cuda), emulated (correctness only) or none (compiled only)."""

    CPU = "cpu"
    CUDA = "cuda"
    EMULATED = "emulated"
    NONE = "none"


class ReviewState(StrEnum):
    """Where a Solution stands in review."""

    PROPOSED = "proposed"
    PROMOTED = "promoted"
    REJECTED = "rejected"
    RETIRED = "retired"
