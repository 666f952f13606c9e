"""Builders of valid records for tests: each takes only what the test is about.

evaluation = an_evaluation(candidate, speedup=1.31, latency_us={"default": 162.0})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.records import (
    ArgumentFacts,
    Baseline,
    Candidate,
    Decision,
    Depth,
    Entry,
    Environment,
    Evaluation,
    Failure,
    InputSpec,
    Interval,
    LanguageName,
    Level,
    Profile,
    Ratio,
    RunEvent,
    RunSummary,
    SourceFile,
    Status,
    Task,
    TaskFacts,
    Workload,
    WorkloadFacts,
    WorkloadResult,
)

REFERENCE = """import torch

SIZE = 1024


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.avg_pool2d(x[None, None], 3, stride=1, padding=1)[0, 0]


def get_inputs():
    return [torch.rand(SIZE, SIZE)]


def get_init_inputs():
    return []
"""


def a_task(name: str = "box_blur_3x3", *, workloads: Sequence[Workload] = (), **fields: Any) -> Task:
    """A small blur; ``fields`` override any field of Task."""
    given: dict[str, Any] = {
        "name": name,
        "description": "Mean over a 3x3 window.",
        "family": "stencil",
        "reference": REFERENCE,
        "inputs": (InputSpec(name="x", axes=("height", "width"), dtype="float32"),),
        "workloads": tuple(workloads) or (Workload(name="default"),),
        "licence": "Apache-2.0",
        "source": "kernelwright",
    }
    return Task(**{**given, **fields})


def some_facts(task: Task, *, bytes_: int = 8_388_608, flops: int = 9_437_184) -> TaskFacts:
    """What running the reference would reveal: one square float32 input and output per workload."""
    arguments = (
        ArgumentFacts(name="x", kind="input", dtype="float32", shape=(1024, 1024)),
        ArgumentFacts(name="output0", kind="output", dtype="float32", shape=(1024, 1024)),
    )
    workloads = [
        WorkloadFacts(workload=w.name, arguments=arguments, compulsory_bytes=bytes_ * 64**i, flops=flops * 64**i)
        for i, w in enumerate(task.workloads)
    ]
    return TaskFacts(task_id=task.id, workloads=tuple(workloads))


def an_environment(**fields: Any) -> Environment:
    """An eight-core machine with a compiler."""
    given: dict[str, Any] = {
        "cpu": "AMD EPYC 9R14",
        "cpu_vendor": "AuthenticAMD",
        "isa": "avx512",
        "cores": 8,
        "threads": 1,
        "affinity": (3,),
        "memory_gib": 31.0,
        "os": "Linux 6.1 (glibc 2.36)",
        "blas": "mkl",
        "compiler": "g++ 12.2.0",
        "versions": {"python": "3.11.7", "torch": "2.13.0+cpu", "halide": "21.0.0", "kernelwright": "0.1.0"},
        "load_1m": 0.42,
    }
    return Environment(**{**given, **fields})


def an_interval(median: float, spread: float = 0.01, samples: int = 60) -> Interval:
    """A median with an interval of ``spread`` to both sides."""
    return Interval(median=median, low=median * (1 - spread), high=median * (1 + spread), samples=samples)


def a_ratio(value: float, against: str = "compile", *, spread: float = 0.015, pairs: int = 60) -> Ratio:
    """A ratio with an interval of ``spread`` to both sides."""
    return Ratio(value=value, low=value * (1 - spread), high=value * (1 + spread), pairs=pairs, against=against)


def a_baseline(name: str = "eager", latency_us: Mapping[str, float] | None = None, **fields: Any) -> Baseline:
    """A baseline; without times it needs ``not_measured``."""
    words = {
        "eager": "torch, eager",
        "compile": "torch.compile, default",
        "compile-max": "torch.compile, max-autotune, frozen",
        "onednn": "converted by torch.utils.mkldnn",
        "start-O2": "the start kernel at -O2",
        "start-O3": "the start kernel at -O3 -march=native",
    }
    times = {w: an_interval(t) for w, t in (latency_us or {}).items()}
    return Baseline(**{"name": name, "description": words[name], "latency_us": times, **fields})


def a_candidate(text: str = "int kw_run() { return 0; }\n", **fields: Any) -> Candidate:
    """A C++ candidate of one file."""
    given: dict[str, Any] = {
        "language": LanguageName.CPP,
        "entry": Entry.C,
        "files": (SourceFile(path="kernel.cpp", text=text),),
        "entry_file": "kernel.cpp",
    }
    return Candidate(**{**given, **fields})


def a_decision(technique: str = "separable-window", summary: str = "", **fields: Any) -> Decision:
    """A decision of round 1 from the reference."""
    given: dict[str, Any] = {
        "technique": technique,
        "summary": summary or f"Apply {technique}.",
        "where": "the output loop",
        "bottleneck": "memory",
        "source": "search",
        "round": 1,
    }
    return Decision(**{**given, **fields})


def an_evaluation(
    candidate: Candidate | str,
    *,
    speedup: float | None = None,
    latency_us: Mapping[str, float] | None = None,
    floor_us: Mapping[str, float] | None = None,
    over: Mapping[str, float] | None = None,
    **fields: Any,
) -> Evaluation:
    """A PASSED evaluation with times.

    Args:
        candidate: it or its id.
        speedup: over the best baseline, ``compile``.
        latency_us: workload -> median time.
        floor_us: workload -> the machine's floor.
        over: further baselines -> speed-up, alike on every workload.
        fields: override any field of Evaluation.
    """
    floors = floor_us or {}
    ratios = tuple(a_ratio(v, name) for name, v in {"compile": speedup, **(over or {})}.items() if v is not None)
    results = [
        WorkloadResult(
            workload=name,
            latency_us=an_interval(time),
            ratios=ratios,
            floor_us=floors.get(name),
            of_floor=floors[name] / time if name in floors else None,
            checked_calls=240,
        )
        for name, time in (latency_us or {}).items()
    ]
    given: dict[str, Any] = {
        "candidate_id": candidate if isinstance(candidate, str) else candidate.id,
        "task_id": "0" * 16,
        "status": Status.PASSED,
        "level": Level.MEASURED,
        "depth": Depth.FULL,
        "workloads": tuple(results),
        "speedup": None if speedup is None else a_ratio(speedup),
        "best_baseline": "compile",
        "build_s": 0.41,
        "measure_s": 2.3,
        "own_s": 0.012,
        "environment": an_environment(),
        "sandbox": "bubblewrap",
    }
    return Evaluation(**{**given, **fields})


def a_failure(candidate: Candidate | str, status: Status, message: str, **fields: Any) -> Evaluation:
    """An evaluation that ended with ``status``; ``check`` and ``log_tail`` go to its Failure."""
    details = {key: fields.pop(key) for key in tuple(fields) if key in Failure.model_fields}
    failure = Failure(**{"check": "build", "message": message, **details})
    return an_evaluation(candidate, status=status, failure=failure, best_baseline="", **fields)


def a_profile(candidate: Candidate, **fields: Any) -> Profile:
    """A memory-bound profile."""
    given: dict[str, Any] = {
        "candidate_id": candidate.id,
        "level": Level.MEASURED,
        "metrics": {"achieved_gbps": 51.8, "of_memory_roof": 0.78},
        "bottleneck": "memory",
        "reason": "78 % of the L2 bandwidth, 4 % of the fp32 rate",
        "headroom": 1.28,
    }
    return Profile(**{**given, **fields})


def a_summary(task: Task, **fields: Any) -> RunSummary:
    """A finished run without a result."""
    given: dict[str, Any] = {
        "run_id": "20250601-101500-box_blur",
        "task_name": task.name,
        "task_id": task.id,
        "engine": "search",
        "state": "finished",
        "reason": "no-progress",
        "started_at": "2025-06-01T10:15:00Z",
        "ended_at": "2025-06-01T10:16:14Z",
        "seconds": 74.0,
        "command": f"kernelwright optimize {task.name} --seed 7",
    }
    return RunSummary(**{**given, **fields})


def an_event(kind: str, message: str = "", **fields: Any) -> RunEvent:
    """An event of round 1; unknown keywords go into ``data``."""
    own = {key: fields.pop(key) for key in tuple(fields) if key in RunEvent.model_fields}
    return RunEvent(**{"at": "2025-06-01T10:15:00Z", "kind": kind, "message": message, "round": 1, **own}, data=fields)
