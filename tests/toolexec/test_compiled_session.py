"""Device none: verdicts that claim nothing but what the code shows."""

import pytest
from fakes import gpu_kernels as gpu
from fakes.gpu_kernels import cuda, needs_nvdisasm, needs_nvrtc
from fakes.kernels import RIGHT_CPP, small_task

from kernelwright.errors import UnknownName
from kernelwright.protocols import JudgeSettings, ShowsCode
from kernelwright.records import Depth, Evaluation, Level, Status
from kernelwright.toolexec.executors.local import LocalExecutor

pytestmark = needs_nvrtc


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    settings = JudgeSettings(device="none", cache_dir=tmp_path_factory.mktemp("cache"))
    with LocalExecutor().open(small_task(), settings=settings) as opened:
        yield opened


def judged(session, text, architecture="sm_90a") -> Evaluation:
    return session.evaluate(cuda(text, architecture=architecture), depth=Depth.FULL)


@needs_nvdisasm
def test_what_compiles_is_unjudged_with_facts_and_without_times(session):
    found = judged(session, gpu.SCALE)
    assert (found.status, found.level, found.device) == (Status.UNJUDGED, Level.COMPILED, "none")
    assert found.speedup is None and not found.workloads and found.failure is None
    (kernel,) = found.kernels
    assert kernel.architecture == "sm_90a" and kernel.occupancy == 1.0 and set(kernel.grid_blocks) == {"small", "wide"}
    assert "not run" in found.static_notes[0]
    assert Evaluation.from_json(found.to_json()) == found


@needs_nvdisasm
def test_its_profile_is_marked_as_a_guess(session):
    candidate = cuda(gpu.SCALE, architecture="sm_90a")
    profile = session.profile(candidate, session.evaluate(candidate, depth=Depth.FULL))
    assert profile.level is Level.COMPILED and profile.headroom is None
    assert profile.bottleneck == "memory" and "guess" in profile.reason and "nothing was run" in profile.reason
    assert profile.metrics["occupancy"] == 1.0
    assert not any(name.endswith(("_us", "_gbps", "_gflops")) for name in profile.metrics)


@pytest.mark.parametrize(
    ("text", "status", "check"),
    [
        (gpu.SYNTAX, Status.COMPILE_ERROR, "build"),
        (gpu.HOPPER_ONLY, Status.COMPILE_ERROR, "build"),
        (gpu.REGISTER_OVERFLOW, Status.RUNTIME_ERROR, "launch"),
    ],
)
def test_what_is_broken_has_its_status_and_a_short_reason(session, text, status, check):
    found = judged(session, text, "sm_80")
    assert (found.status, found.level, found.failure.check) == (status, Level.COMPILED, check)
    assert 0 < len(found.failure.message) <= 300 and len(found.failure.log_tail) <= 1500


@needs_nvdisasm
def test_two_candidates_are_told_apart_by_facts_and_code(session):
    one, other = cuda(gpu.SCALE, architecture="sm_80"), cuda(gpu.SPILLING, architecture="sm_80")
    notes = session.compare(one, other, depth=Depth.FULL).static_notes
    assert any(note.startswith("scale, other -> this: registers") for note in notes)
    assert isinstance(session, ShowsCode)
    for kind in ("ptx", "sass"):
        shown = session.difference(one, other, kind=kind)
        assert shown.startswith(f"--- other.{kind}") and "\n+" in shown
        assert session.difference(one, one, kind=kind) == ""
    with pytest.raises(UnknownName):
        session.difference(one, other, kind="poems")
    assert "expected" in session.difference(one, cuda(gpu.SYNTAX), kind="ptx")


def test_there_is_no_baseline_to_compare_with(session):
    assert not session.baselines
    with pytest.raises(UnknownName):
        session.evaluate(cuda(gpu.SCALE), depth=Depth.FULL, against=("eager",))


def test_other_languages_are_built_and_nothing_more(session):
    found = session.evaluate(RIGHT_CPP, depth=Depth.FULL)
    assert found.status is Status.UNJUDGED and not found.kernels
