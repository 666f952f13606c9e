"""What a task looks like to a lesson, and whether a lesson's scope fits it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernelwright.records import Environment, LessonScope


@dataclass(frozen=True)
class Situation:
    """What is known where a prompt is built. An empty field is unknown and fits no condition on it."""

    family: str = ""
    device: str = ""
    """Kind: cpu, cuda, emulated, none."""
    architecture: str = ""
    """e.g. ``sm_90``, or the widest vector extension: ``avx512``."""
    languages: tuple[str, ...] = ()
    """Those that candidates may be written in."""
    dtypes: tuple[str, ...] = ()
    bottleneck: str = ""
    toolchains: tuple[str, ...] = ()
    """Compilers and frameworks with their versions, e.g. ``g++ 12.2.0``."""


def fits(scope: LessonScope, situation: Situation) -> bool:
    """True when every list of the scope that says something holds here."""
    return (
        _holds(scope.families, (situation.family,))
        and _holds(scope.bottlenecks, (situation.bottleneck,))
        and _holds(scope.languages, situation.languages)
        and _holds(scope.devices, (situation.device,))
        and _holds(scope.dtypes, situation.dtypes)
        and _holds(scope.architectures, (situation.architecture,))
        and (not scope.toolchains or any(_begins(t, w) for w in scope.toolchains for t in situation.toolchains))
    )


def architecture_of(environment: Environment) -> str:
    """The word that ``LessonScope.architectures`` uses: of the GPU where there is one, else of the processor."""
    gpu = re.search(r"sm_\d+[a-z]?", environment.gpu)
    return gpu[0] if gpu else "" if environment.gpu else environment.isa


def toolchains_of(environment: Environment) -> tuple[str, ...]:
    """Compiler and packages with their versions: ``g++ 12.2.0``, ``torch 2.13.0``; no distribution's remarks."""
    found = [f"{name} {version}" for name, version in environment.versions.items()]
    words = environment.compiler.split()
    version = next((w for w in reversed(words) if re.fullmatch(r"\d+(\.\d+)+", w)), "")
    return (f"{words[0]} {version}", *found) if version else tuple(found)


def overlap(one: LessonScope, other: LessonScope) -> bool:
    """True when some task could lie in both scopes."""
    return all(
        not mine or not theirs or set(mine) & set(theirs)
        for mine, theirs in ((getattr(one, name), getattr(other, name)) for name in LessonScope.model_fields)
    )


def _begins(toolchain: str, wanted: str) -> bool:
    """``torch 2`` and ``torch 2.1`` are the start of ``torch 2.1.3``, and ``torch 2.1`` is none of ``torch 2.13.0``."""
    return toolchain.startswith(wanted) and not toolchain[len(wanted) : len(wanted) + 1].isdigit()


def _holds(wanted: tuple[str, ...], here: tuple[str, ...]) -> bool:
    return not wanted or any(value in wanted for value in here)
