"""Plans and rows as records, for tests that are about figures."""

from __future__ import annotations

from typing import Any

from fakes.records import a_ratio

from kernelwright.config import default_values
from kernelwright.records import SampleTimes, SuitePlan, SuiteRow, SuiteTask


def a_plan(*tasks: str | SuiteTask, arms: tuple[str, ...] = ("main",), **fields: Any) -> SuitePlan:
    """A plan over tasks by their keys; the first arm's options are the defaults."""
    told = tuple(SuiteTask(key=t, task=t) if isinstance(t, str) else t for t in tasks)
    given = {"suite_id": "20250601-100000-made", "name": "made", "tasks": told, "devices": ("cpu",)}
    return SuitePlan(**{**given, "arms": {arm: default_values() for arm in arms}, **fields})


def a_row(task: str, speedup: float | None, *, arm: str = "main", sample: int = 0, **fields: Any) -> SuiteRow:
    """A finished sample with a confirmed speed-up; None: nothing passed."""
    times = {}
    if speedup is not None:
        for name, time in (("candidate", 200 / speedup), ("compile", 200.0)):
            times[name] = SampleTimes(mean_us=time, std_us=2.0, min_us=time - 3, max_us=time + 9, samples=60)
    given: dict[str, Any] = {
        "cell": f"{task}.{arm}.{sample}", "arm": arm, "task": task, "sample": sample, "seed": sample,
        "outcome": "finished", "family": "stencil", "task_id": "0" * 16, "run": f"cells/{task}/runs/x",
        "compiled": True, "correct": speedup is not None, "confirmed": speedup is not None,
        "speedup": None if speedup is None else a_ratio(speedup), "best_baseline": "compile",
        "baselines_us": {"compile": 200.0, "eager": 900.0}, "times": times, "seconds": 60.0, "build_s": 20.0,
        "latency_us": None if speedup is None else 200 / speedup, "of_floor": None if speedup is None else 0.5,
        "measure_s": 30.0, "model_s": 0.0, "tokens": 0, "cost_usd": 0.0, "hardware": "AMD EPYC 9R14", "machine": "m1",
        "device": "cpu",
    }  # fmt: skip
    return SuiteRow(**{**given, **fields})
