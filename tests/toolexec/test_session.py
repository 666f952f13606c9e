"""The judge end to end on a tiny task: what passes, what fails and how, and what the numbers say."""

import dataclasses
import os

import numpy as np
import pytest
from fakes.kernels import RIGHT, RIGHT_CPP, RIGHT_MODULE, TUNED_CPP, cpp, module
from toolexec.conftest import needs_compiler

from kernelwright.errors import JudgeError, UnknownName
from kernelwright.records import Depth, Level, Status, Tunable
from kernelwright.toolexec.devices.cpu import measuring_cores
from kernelwright.toolexec.judge.baselines import BaselineSet, NotMeasured
from kernelwright.toolexec.judge.rounds import Rounds

pytestmark = needs_compiler


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="with one core nothing is pinned")
def test_all_are_timed_on_the_cores_for_measuring(session, monkeypatch):
    """The candidate, every baseline and the checker: another core, or the judge's own, is another machine."""
    seen = []
    real = Rounds.run

    def run(self, *args, **options):
        seen.append({c.name: os.sched_getaffinity(c.worker.pid) for c in self._everyone})
        return real(self, *args, **options)

    wanted = set(measuring_cores(1))
    monkeypatch.setattr(Rounds, "run", run)
    assert session.evaluate(RIGHT_CPP, depth=Depth.FULL).passed
    assert seen and all(len(timed) > 1 for timed in seen)
    assert all(cores == wanted for timed in seen for cores in timed.values()), seen


def test_a_baseline_that_is_gone_is_said_and_the_best_is_never_left_out(session, monkeypatch):
    best, others = session.best_baseline, [b.name for b in session.baselines if not b.not_measured]
    gone = next(n for n in others if n != best)
    real = BaselineSet._build

    def build(self, name, only=()):
        if name in missing:
            raise NotMeasured("took more than 90 s", lasting=False)
        return real(self, name, only)

    monkeypatch.setattr(BaselineSet, "_build", build)
    missing = {gone}
    session._baselines.stop(gone)
    verdict = session.evaluate(RIGHT_CPP, depth=Depth.SCREEN, against=(best, gone))
    assert verdict.passed and verdict.best_baseline == best
    assert any(f"{gone} did not come up this time" in note for note in verdict.static_notes)
    missing = {best}
    session._baselines.stop(best)
    with pytest.raises(JudgeError, match=f"the best baseline, {best}, does not come up any more"):
        session.evaluate(RIGHT_CPP, depth=Depth.SCREEN)
    missing = set()
    assert session.best_baseline == best and all(b.latency_us for b in session.baselines if b.name in (best, gone))
    assert session.evaluate(RIGHT_CPP, depth=Depth.SCREEN).speedup is not None


def test_a_right_kernel_passes_with_numbers(session):
    verdict = session.evaluate(RIGHT_CPP, depth=Depth.FULL)
    assert verdict.failure is None
    assert (verdict.status, verdict.level) == (Status.PASSED, Level.MEASURED)
    assert [w.workload for w in verdict.workloads] == ["small", "wide"]
    assert verdict.best_baseline in {"eager", "start-O2", "start-O3"}
    assert verdict.speedup is not None and verdict.speedup.low <= verdict.speedup.value <= verdict.speedup.high
    for result in verdict.workloads:
        assert result.latency_us is not None and 0 < result.latency_us.median < 1e5
        assert result.checked_calls > 100  # every timed call counts
        assert result.floor_us is not None and result.floor_us > 0
        assert result.error_rms is not None and result.error_rms <= result.error_allowed
        (only,) = verdict.raw[result.workload]
        samples = only[RIGHT_CPP.id]
        assert np.median(samples) == pytest.approx(result.latency_us.median, rel=1e-3)
    assert verdict.own_s < verdict.measure_s


def test_a_look_at_the_sources_is_advice_and_refuses_nothing(session):
    """The same program with a suspicious word in a comment: a note with its place, and no other verdict."""
    (file,) = RIGHT_CPP.files
    text = f"// no std::thread, nor popen() here\n{file.text}"
    suspicious = RIGHT_CPP.model_copy(update={"files": (file.model_copy(update={"text": text}),)})
    verdict = session.evaluate(suspicious, depth=Depth.SCREEN)
    assert verdict.passed
    for what in ("starts processes", "starts threads of its own"):
        assert f"{file.path}:1: {what}" in verdict.static_notes
    plain = session.evaluate(RIGHT_CPP, depth=Depth.SCREEN)
    assert not any("starts" in note for note in plain.static_notes)


def test_a_module_of_other_parameters_is_told_which(session):
    verdict = session.evaluate(
        RIGHT_MODULE, depth=Depth.SCREEN
    )  # its parameters have 97 elements, at "wide" 201 are needed
    assert verdict.status is Status.RUNTIME_ERROR
    assert verdict.failure.workload == "wide"
    assert "must keep the reference's parameters" in verdict.failure.message


def test_a_module_beside_a_kernel_in_c_is_not_charged_for_having_an_interpreter(start_session):
    """Its outputs are copied for it, and its calls on their own wake Python up: neither is work left for later."""
    assert start_session.best_baseline.startswith("start")
    verdict = start_session.evaluate(RIGHT_MODULE, depth=Depth.FULL)
    assert verdict.status is Status.PASSED, verdict.failure
    assert not any("on their own" in note for note in verdict.static_notes)
    (result,) = verdict.workloads
    eager = next(b for b in start_session.baselines if b.name == "eager").latency_us["small"].median
    assert result.latency_us.median < 2 * eager  # it does the same; it was told to take three times as long
    assert {r.against for r in result.ratios} == {start_session.best_baseline}


def test_confirmed_times_all_baselines_in_fresh_processes(session):
    verdict = session.evaluate(RIGHT_CPP, depth=Depth.CONFIRMED)
    if verdict.status is Status.UNSTABLE:
        pytest.skip("this machine is too busy for a confirmation")
    assert verdict.status is Status.PASSED, verdict.failure
    against = {r.against for r in verdict.workloads[0].ratios}
    assert against == {"eager", "start-O2", "start-O3"}
    over = {r.against: r for r in verdict.workloads[0].ratios}
    assert verdict.speedup.value <= max(r.value for r in over.values())
    assert verdict.speedup.processes >= 3
    assert [over[name].processes for name in over if name != verdict.best_baseline] == [1, 1]
    pairs = verdict.raw[verdict.workloads[0].workload]
    assert len(pairs) == verdict.speedup.processes
    assert set(pairs[1]) == {RIGHT_CPP.id, verdict.best_baseline, verdict.best_baseline + "#2"}
    living = {worker.role for worker in session._baselines.workers()}
    assert living == ({"torch"} if session.best_baseline == "eager" else {"kernel"})  # the others' memory is free again


@pytest.mark.parametrize(
    ("candidate", "status", "check"),
    [
        (cpp("  memset(y, 0, rows * cols * 4);"), Status.WRONG_VALUES, "values"),
        (cpp(RIGHT + "  y[rows * cols - 1] += 1;"), Status.WRONG_VALUES, "values"),
        (cpp(RIGHT.replace("rows * cols", "(rows - 1) * cols")), None, ""),
        (cpp("  for (int64_t i = 0; i < rows * cols; i++) y[i] = NAN;"), Status.NONFINITE, "finite"),
        (cpp(RIGHT + "  ((float*)x)[0] = 0;"), Status.CHEATED, "inputs"),
        (cpp("  return 7;"), Status.RUNTIME_ERROR, "run"),
        (cpp("  this is no C++;"), Status.COMPILE_ERROR, "build"),
        (cpp(RIGHT, flags=("-l/etc/passwd",)), Status.COMPILE_ERROR, "build"),
    ],
    ids=["zeros", "one-element", "last-row", "nan", "writes-input", "refuses", "syntax", "flag"],
)
def test_wrong_kernels_fail_in_their_own_way(session, candidate, status, check):
    verdict = session.evaluate(candidate, depth=Depth.SCREEN)
    assert verdict.speedup is None
    if status is None:  # what was left unwritten is poison: NaN or a wrong number
        assert verdict.status in (Status.NONFINITE, Status.WRONG_VALUES)
        assert verdict.failure.index[0] == 32
        return
    assert (verdict.status, verdict.failure.check) == (status, check)
    assert verdict.failure.message


def test_weights_that_are_ignored_show_on_random_weights(session):
    careless = cpp(RIGHT.replace("* w[i % cols]", "").replace("+ b[i % cols]", ""))
    assert session.evaluate(careless, depth=Depth.SCREEN).status is Status.PASSED  # they are ones and zeros
    assert session.evaluate(careless, depth=Depth.FULL).status is Status.WRONG_VALUES


def test_replaying_an_old_result_is_caught(session):
    replay = cpp(
        "  if (!kept.empty() && kept.size() == (size_t)(rows * cols)) { memcpy(y, kept.data(), rows * cols * 4); }\n"
        "  else {" + RIGHT + "  kept.assign(y, y + rows * cols); }",
        before="static std::vector<float> kept;",
    )
    assert session.evaluate(replay, depth=Depth.SCREEN).status is Status.WRONG_VALUES


def test_a_wrong_module_fails(module_session):
    verdict = module_session.evaluate(module("        return right.bfloat16().float()"), depth=Depth.SCREEN)
    assert verdict.status is Status.WRONG_VALUES, verdict.failure


def test_a_module_with_prepare_is_packed_once_and_timed_apart(module_session):
    packed = module(
        "        return torch.relu(torch.addcmul(self.bias, x, self.scaled))",
        body="    def prepare(self):\n        self.scaled = self.weight * self.factor\n",
    )
    verdict = module_session.evaluate(packed, depth=Depth.FULL)
    assert verdict.status is Status.PASSED, verdict.failure
    assert verdict.prepare_us is not None and verdict.prepare_us > 0


def test_tunables_reach_a_c_kernel(session):
    for value in (1, 16):
        verdict = session.evaluate(TUNED_CPP.with_tunables({"STEP": value}), depth=Depth.SCREEN)
        assert verdict.status is Status.PASSED, verdict.failure


def test_tunables_reach_a_module(module_session):
    picky = module(
        "        return right if MODE == 2 else right + 1",
        before="MODE = 1",
        tunables=(Tunable(name="MODE", values=(1, 2), value=2),),
    )
    assert module_session.evaluate(picky, depth=Depth.SCREEN).status is Status.PASSED


def test_two_candidates_are_compared_directly(session):
    slow = cpp("  volatile float sink = 0; for (int i = 0; i < 100000; i++) sink = sink + i;\n" + RIGHT)
    verdict = session.compare(RIGHT_CPP, slow, depth=Depth.SCREEN)
    assert verdict.status is Status.PASSED, verdict.failure
    assert verdict.speedup.against == slow.id == verdict.best_baseline
    assert verdict.speedup.low > 1
    back = session.compare(slow, RIGHT_CPP, depth=Depth.SCREEN)
    assert back.speedup.high < 1
    assert back.regressed == ("small", "wide")


def test_an_other_that_is_wrong_is_named_as_such(session):
    verdict = session.compare(RIGHT_CPP, cpp("  return 7;"), depth=Depth.SCREEN)
    assert verdict.status is Status.RUNTIME_ERROR
    assert "the other candidate" in verdict.failure.message


def test_an_unknown_baseline_is_refused(session):
    with pytest.raises(UnknownName, match="baseline"):
        session.evaluate(RIGHT_CPP, depth=Depth.SCREEN, against=("eagre",))


def test_baselines_name_one_best(session):
    names = {b.name: b for b in session.baselines}
    assert set(names) == {"eager", "start-O2", "start-O3"}
    assert sum(b.best for b in session.baselines) == 1
    for baseline in session.baselines:
        assert set(baseline.latency_us) == {"small", "wide"}


def test_facts_say_what_the_reference_does(session):
    work = session.facts.workloads[0]
    assert [a.name for a in work.arguments] == ["x", "weight", "bias", "scalar0", "output0"]
    assert work.of_kind("scalar")[0].value == 1.5
    assert session.facts.ops == ("mul", "add", "relu")
    assert work.operations[0].args == ({"ref": "x"}, {"ref": "weight"})
    assert work.results == (work.operations[-1].name,)
    assert work.compulsory_bytes == 4 * (2 * 33 * 97 + 2 * 97)
    assert work.flops == 4 * 33 * 97
    assert work.longest_sum == 1, "nothing is summed"
    assert session.facts.workloads[1].of_kind("input")[0].shape == (33, 201)


def test_a_profile_says_what_limits(session):
    verdict = session.evaluate(RIGHT_CPP, depth=Depth.SCREEN)
    profile = session.profile(RIGHT_CPP, verdict)
    assert profile.metrics["achieved_gbps"] > 0
    assert profile.reason
    assert profile.headroom is None or profile.headroom > 0.5


def test_a_profile_counts_where_that_is_asked_for(session, monkeypatch):
    monkeypatch.setattr(session, "settings", dataclasses.replace(session.settings, counters=True))
    verdict = session.evaluate(RIGHT_CPP, depth=Depth.SCREEN)
    profile = session.profile(RIGHT_CPP, verdict)
    assert any("vectoris" in note for note in profile.notes)
    assert "sim_instructions" in profile.metrics or any("Caches not simulated" in note for note in profile.notes)
    other = session.profile(RIGHT_MODULE, verdict)
    assert other.notes == ("Nothing is counted of a kernel in torch, only of C++.",)
