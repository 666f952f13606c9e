"""Candidates with host code on the judge's whole path of a GPU, on a stand-in: what its code gains by lying is nothing.

The attacks run in the very process that opens inputs and sums outputs; each is written against our own files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.gpu import FakeGpu, opened
from fakes.gpu_kernels import HOST
from fakes.gpu_runtime import HostRuntime
from fakes.kernels import module, small_task, source
from toolexec.conftest import needs_compiler
from toolexec.devices.test_fake_gpu import cuda

from kernelwright.records import (
    Candidate,
    Depth,
    Entry,
    Environment,
    Evaluation,
    Interval,
    KernelPolicy,
    LanguageName,
    Level,
    Ratio,
    SourceFile,
    Status,
    WorkloadResult,
)
from kernelwright.toolexec.judge.gpu_contestant import BUSY, LATE_OUTPUTS
from kernelwright.toolexec.judge.gpu_evaluating import UNSEALER, GpuEvaluating, Hideable, bounds
from kernelwright.toolexec.sealing import input_stream, keyed_sum, new_key, output_stream, sealed
from kernelwright.toolexec.workers.device_runtime import Region
from kernelwright.toolexec.workers.device_seal import Sealer

pytestmark = needs_compiler
RIGHT = "        return right"
TASK = small_task(workloads=({"name": "small"},))


@pytest.fixture(scope="module")
def session(gpu_cache: Path) -> Iterator[Any]:
    with opened(TASK, FakeGpu(), gpu_cache) as session:
        yield session


def host(text: str = HOST) -> Candidate:
    return source(LanguageName.CUDA, Entry.C, "kernel.cu", text)


def slow(*values: Any) -> Any:
    """A case that starts one more process with torch."""
    return pytest.param(*values, marks=pytest.mark.slow)


def judged(session: Any, candidate: Candidate, depth: Depth = Depth.SCREEN) -> Evaluation:
    evaluation: Evaluation = session.evaluate(candidate, depth=depth)
    assert evaluation.level is not Level.MEASURED
    return evaluation


def test_the_kernels_open_and_sum_as_the_judge_does(gpu_cache: Path) -> None:
    ours = Candidate(
        language=LanguageName.CUDA,
        entry=Entry.C,
        files=(SourceFile(path=UNSEALER.name, text=UNSEALER.read_text()),),
        entry_file=UNSEALER.name,
    )
    built = FakeGpu()._build(ours, (), gpu_cache / "builds", 120.0)
    assert built.artifact is not None, built.log
    runtime = HostRuntime()
    sealer = Sealer(runtime, built.artifact)
    for size in (1, 31, 32, 1000, 8192 + 5):
        opened_and_summed(runtime, sealer, size)


def opened_and_summed(runtime: HostRuntime, sealer: Sealer, size: int) -> None:
    """Also of a view that is not aligned, as a module may return one."""
    key = new_key()
    plain = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    place = Region(runtime.allocate(size + 1), size)
    sealer.bring(2, [place], [sealed(plain, key, input_stream(2, 0))])
    sealer.use(key)
    sealer.open(2)
    found, shifted = np.empty(size, np.uint8), np.empty(size, np.uint8)
    runtime.download(place.address, found)
    assert np.array_equal(found, plain)
    odd = Region(place.address + 1, size)
    runtime.download(odd.address, shifted)
    sealer.add_up(2, [place, odd])
    expected = [keyed_sum(a, key, output_stream(2, n)) for n, a in enumerate((plain, shifted))]
    assert np.frombuffer(sealer.sums(), "<u8").tolist() == expected


@pytest.mark.parametrize("candidate", [host(), module(RIGHT)], ids=["kw_run", "module"])
def test_host_code_is_judged_by_the_judges_own_clock(session: Any, candidate: Candidate) -> None:
    judging = GpuEvaluating(session._workplace(), candidate, Depth.SCREEN, None)
    evaluation = judging.run(["eager"])
    assert (evaluation.status, evaluation.level) == (Status.PASSED, Level.EMULATED), evaluation.failure
    for outcome in judging.outcomes:
        assert outcome.measured is not None and outcome.measured.slots == 1
        times = outcome.measured.times(candidate.id)
        assert len(outcome.measured.logs(candidate.id, "eager")) == len(times) >= 3
        assert judging._overheads[outcome.workload] > 0
    assert not session._gpu.sealed, "the next candidate may be launched as data"
    assert judged(session, cuda()).passed


@pytest.mark.slow
def test_every_depth_passes_what_is_right(session: Any) -> None:
    evaluation = judged(session, module(RIGHT), Depth.FULL)
    assert evaluation.passed, evaluation.failure


@pytest.mark.slow
def test_host_code_is_compared_with_what_is_launched_as_data(session: Any) -> None:
    evaluation = session.compare(host(), cuda(), depth=Depth.SCREEN)
    assert evaluation.passed, evaluation.failure


@pytest.mark.parametrize(
    ("candidate", "status", "words"),
    [
        (host(HOST.replace("+ b[c]", "+ 1.0f")), Status.WRONG_VALUES, ""),
        slow(host(HOST.replace("return (int)cudaGetLastError()", "return 7")), Status.RUNTIME_ERROR, "7"),
        slow(host(HOST.replace("y[i] =", "y[-1] = 0.0f; y[i] =")), Status.RUNTIME_ERROR, ""),
        slow(module("        x.zero_()\n        return right"), Status.CHEATED, "changed its inputs"),
        slow(module("        return right + 1e-2"), Status.WRONG_VALUES, ""),
        slow(module("        return right[:1].expand(x.shape)"), Status.CHEATED, "expanded"),
        slow(module("        return [right]"), Status.PASSED, ""),
        slow(module("        raise ValueError('no')"), Status.RUNTIME_ERROR, "no"),
        slow(module("        return right.double()"), Status.WRONG_DTYPE, ""),
        slow(module("        return x.relu_()"), Status.CHEATED, "memory of an input"),
    ],
    ids=["values", "refuses", "outside", "inputs", "module", "expanded", "list", "raises", "dtype", "alias"],
)
def test_what_is_wrong_is_told(session: Any, candidate: Candidate, status: Status, words: str) -> None:
    evaluation = judged(session, candidate)
    assert evaluation.status is status, evaluation.failure
    assert words in str(evaluation.failure)


PENDING = """
import kernelwright.toolexec.workers.device_module as ours
pending = []
plain = ours.DeviceModule.collect
def late(self, slot):
    while pending:
        target, value = pending.pop()
        target.copy_(value)
    return plain(self, slot)
ours.DeviceModule.collect = late
"""
"""Says "done" with nothing in its outputs, and fills them when they are asked for."""
EARLY = """
import numpy as np
import kernelwright.toolexec.workers.device_seal as ours
early = {}
plain = ours.Sealer.bring
def looked_at(self, slot, places, views):
    early["x"] = torch.from_numpy(np.array(views[0]))
    return plain(self, slot, places, views)
ours.Sealer.bring = looked_at
"""
"""Takes what lies in the arena before "go" for its inputs."""
FORGED = """
import kernelwright.toolexec.workers.device_seal as ours
ours.Sealer.sums = lambda self: b"\\0" * 8
"""
FAST_OPENING = """
import kernelwright.toolexec.workers.device_seal as ours
ours.Sealer.open = lambda self, slot: None
"""
"""Leaves its inputs sealed."""


@pytest.mark.parametrize(
    ("before", "forward", "statuses", "words"),
    [
        (
            PENDING,
            "        y = torch.zeros_like(x)\n        pending.append((y, right))\n        return y",
            (Status.CHEATED,),
            LATE_OUTPUTS,
        ),
        slow(
            EARLY,
            "        return torch.relu(early['x'] * self.weight * self.factor + self.bias)",
            (Status.WRONG_VALUES, Status.NONFINITE),
            "",
        ),
        slow(FORGED, RIGHT, (Status.CHEATED,), LATE_OUTPUTS),
        slow(FAST_OPENING, RIGHT, (Status.WRONG_VALUES, Status.NONFINITE, Status.CHEATED), ""),
    ],
    ids=["late", "early", "forged sum", "not opened"],
)
def test_lies_of_host_code_are_refused(
    session: Any, before: str, forward: str, statuses: tuple[Status, ...], words: str
) -> None:
    evaluation = judged(session, module(forward, before=before))
    assert evaluation.status in statuses, (evaluation.status, evaluation.failure)
    assert words in str(evaluation.failure)


@pytest.mark.slow
def test_a_gpu_that_is_busy_in_others_turns_is_told(tmp_path: Path) -> None:
    """A kernel that was left running slows rivals down while its own process stands still."""
    with opened(TASK, FakeGpu(torch_runtime=":BusyTorchRuntime"), tmp_path) as session:
        evaluation = judged(session, module(RIGHT))
    assert evaluation.status is Status.UNSTABLE and BUSY in str(evaluation.failure)


@pytest.mark.slow
def test_a_task_that_wants_an_own_kernel_is_asked_of_modules_there_too(tmp_path: Path) -> None:
    task = small_task(workloads=({"name": "small"},), policy=KernelPolicy(own_kernel=True))
    with opened(task, FakeGpu(), tmp_path) as session:
        assert judged(session, module(RIGHT), Depth.FULL).status is Status.POLICY
        told = judged(session, host(), Depth.FULL)
        assert told.passed and any("linked to none but CUDA's" in note for note in told.static_notes)


def test_both_ends_of_a_sealed_time_are_told() -> None:
    """50 us after 150 were taken off, 5 to write: 205 us at most, so of 2.0x some 0.49x is left at least."""
    times = Interval(median=50.0, low=49.0, high=51.0, samples=30)
    ratio = Ratio(value=2.0, low=2.0, high=2.1, pairs=30, against="eager")
    evaluation = Evaluation(
        candidate_id="c",
        task_id="t",
        status=Status.PASSED,
        level=Level.MEASURED,
        depth=Depth.FULL,
        workloads=(WorkloadResult(workload="w", latency_us=times, ratios=(ratio,)),),
        speedup=ratio,
        environment=Environment(),
    )
    told = bounds(evaluation, {"w": Hideable(150.0, 5.0)}, {"w": 1.0})
    assert "205.0 us at most" in told[0] and told[1].startswith("at least 0.49x over eager")
    assert bounds(evaluation, {}, {}) == []
