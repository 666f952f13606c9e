"""Noise is never speed, and a small loss never noise: identical kernels, and one 3 % slower, on a busy machine.

Nor is a role in a comparison worth anything to a kernel that waits for memory.

Run all of it: ``pytest tests/toolexec/test_noise.py --full -s``. By default a twentieth of the trials runs.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from fakes.kernels import cpp, module, small_task

from kernelwright.protocols import JudgeSettings
from kernelwright.records import Candidate, Depth, Ratio, Status
from kernelwright.toolexec.devices.cpu import judge_cores
from kernelwright.toolexec.executors.local import LocalExecutor

from .conftest import needs_compiler

pytestmark = needs_compiler

STEPS = 500_000
"""Dependent multiply-adds of one call: about a millisecond, and no memory that could lie well or badly."""
BEYOND = 0.01
SPIN = "import os; judge = os.getppid()\nwhile os.getppid() == judge: pass"
"""Ends with whoever started it."""


def working(steps: int) -> Candidate:
    """A right kernel that needs a time in proportion to ``steps``; its own id for every number."""
    return cpp(
        f"""
  float s = x[0];
  for (int k = 0; k < {steps}; k++) s = s * 0.999999f + 0.25f;
  volatile float sink = s; (void)sink;
  for (int64_t i = 0; i < rows * cols; i++) y[i] = std::max(0.0f, x[i] * w[i % cols] * factor + b[i % cols]);
"""
    )


@pytest.fixture(scope="module")
def busy():
    """Something that never rests on the judge's own core."""
    burner = subprocess.Popen([sys.executable, "-c", SPIN])
    cores = judge_cores(1)
    if cores:
        os.sched_setaffinity(burner.pid, cores)
    yield
    burner.kill()
    burner.wait()


@pytest.fixture(scope="module")
def quiet_session(settings, busy):
    task = small_task(workloads=({"name": "small"},))
    only = JudgeSettings(cache_dir=settings.cache_dir, baselines=("eager",), timeout_s=60.0)
    with LocalExecutor().open(task, settings=only) as opened:
        yield opened


def trials(request: pytest.FixtureRequest, full: int) -> int:
    return full if request.config.getoption("--full") else full // 20


def ratios(session, mine: Candidate, other: Candidate, count: int) -> list[Ratio]:
    """Ratios of so many comparisons; those that end UNSTABLE claim nothing and are left out."""
    found = []
    for _ in range(count):
        verdict = session.compare(mine, other, depth=Depth.CONFIRMED)
        if verdict.status is Status.UNSTABLE:
            continue
        assert verdict.passed and verdict.speedup is not None, verdict.failure
        found.append(verdict.speedup)
    return found


def test_a_kernel_compared_with_itself_is_not_faster(request, quiet_session):
    count = trials(request, 400)
    found = ratios(quiet_session, working(STEPS), working(STEPS), count)
    claims = [r for r in found if r.low > 1 + BEYOND or r.high < 1 - BEYOND]
    off = sorted(abs(r.value - 1) for r in found)
    print(
        f"\n{count} comparisons of a kernel with itself: {len(claims)} claim a difference beyond 1 %, "
        f"{sum(r.shown for r in found)} show any, {count - len(found)} unstable; "
        f"largest deviation {100 * off[-1]:.2f} %"
    )
    assert len(found) >= 0.9 * count
    assert len(claims) <= max(1, 3 * count // 400)


def test_a_slowdown_of_three_percent_is_seen(request, quiet_session):
    count = trials(request, 400)
    found = ratios(quiet_session, working(round(1.03 * STEPS)), working(STEPS), count)
    seen = [r for r in found if r.high < 1]
    print(f"\n{count} comparisons with a kernel 3 % slower: {len(seen)} show that it is slower")
    assert len(seen) >= 0.95 * count


@pytest.mark.slow
def test_being_the_candidate_is_worth_nothing(request, settings):
    """Half a megabyte in and out: where a call's inputs lie decides its time, and the judge moves them about. Processes
    differ by several percent, so it is the mean that is asked: of it as candidate and of it as rival."""
    task = small_task(workloads=({"name": "half a megabyte", "set": {"rows": 1400}},))
    twins = [module(f"        return right  # {i}") for i in range(2)]
    only = JudgeSettings(cache_dir=settings.cache_dir, baselines=("eager",), timeout_s=60.0)
    with LocalExecutor().open(task, settings=only) as opened:
        found = [r.value for i in range(24) for r in ratios(opened, twins[i % 2], twins[1 - i % 2], 1)]
    logs = np.log(found)
    mean, error = float(logs.mean()), float(logs.std(ddof=1) / len(logs) ** 0.5)
    print(f"\n{len(found)} comparisons of a module with itself: {100 * mean:+.2f} % (error {100 * error:.2f} %)")
    assert len(found) >= 20
    assert abs(mean) <= 0.02
