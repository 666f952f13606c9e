"""A ladder measured again: what is asked of the judge, what is called reproduced, what is written back."""

from pathlib import Path

import pytest
from fakes.records import a_failure, a_task, an_environment
from fakes.sessions import ScriptedSession
from fakes.solutions import a_ladder_folder, a_recipe_folder

from kernelwright.errors import LibraryError
from kernelwright.memory.measuring import LadderReport, Noise, verify, write_back
from kernelwright.memory.solution_files import load_solution
from kernelwright.protocols import EvaluationSession
from kernelwright.records import Candidate, Depth, Environment, Evaluation, Rung, Solution, Status

THERE = Environment(cpu="Example CPU", isa="avx512", cores=8, versions={"torch": "2.13.0"})


def measured(
    solution: Solution, naive: float | Status, passes: float | Status, *, environment: Environment = THERE, **options
) -> tuple[LadderReport, ScriptedSession]:
    times = dict(zip([r.candidate.id for r in solution.rungs], (naive, passes), strict=True))
    session = ScriptedSession(a_task(), times, environment=environment)

    def open_session(task) -> EvaluationSession:
        return session

    report = verify(solution, session.task, open_session, **options)
    assert session.closed
    return report, session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """States 400 us (0.5x over eager), then 200 us (2x over the rung before, 1.1x over the best baseline)."""
    return a_ladder_folder(tmp_path)


def test_every_rung_is_judged_alone_and_against_the_one_before(folder: Path) -> None:
    solution = load_solution(folder)
    naive, passes = (r.candidate.id for r in solution.rungs)
    report, session = measured(solution, 400.0, 200.0, depth=Depth.CONFIRMED)
    assert session.calls == [("evaluate", naive), ("evaluate", passes), ("compare", passes, naive)]
    assert report.ok and report.depth is Depth.CONFIRMED
    assert [r.gain.value if r.gain else None for r in report.rungs] == [0.55, 2.0]
    assert all(r.evaluation and r.evaluation.depth is Depth.CONFIRMED for r in report.rungs)


def test_numbers_within_the_noise_are_reproduced(folder: Path) -> None:
    report, _ = measured(load_solution(folder), 404.0, 205.0)
    assert report.ok, report


def test_numbers_that_are_not_reproduced_are_named(folder: Path) -> None:
    report, _ = measured(load_solution(folder), 400.0, 300.0)
    assert not report.ok
    naive, passes = report.rungs
    assert naive.differs == ()
    time, gain, speedup = passes.differs
    assert time.startswith("300 us [297, 303] on default, stated 200 us [198, 203]")
    assert gain.startswith("gain 1.333x") and "stated 2x" in gain
    assert speedup.startswith("speed-up over the best baseline 0.7333x")


def test_the_noise_is_the_callers(folder: Path) -> None:
    solution = load_solution(folder)
    assert measured(solution, 400.0, 220.0, noise=Noise(ratio=0.2, time=0.2))[0].ok
    assert not measured(solution, 400.0, 220.0, noise=Noise(ratio=0.01, time=0.01))[0].ok


def test_ratios_over_different_baselines_contradict_nothing(tmp_path: Path) -> None:
    other = a_ladder_folder(tmp_path / "a")  # states 0.5x over eager for the first rung, 0.55x over compile is found
    same = a_ladder_folder(tmp_path / "b", edit={"against: eager": "against: compile"})
    assert measured(load_solution(other), 400.0, 200.0, noise=Noise(ratio=0.0))[0].ok
    assert measured(load_solution(same), 400.0, 200.0, noise=Noise(ratio=0.0))[0].rungs[0].differs


def test_another_machine_contradicts_nothing(folder: Path) -> None:
    report, _ = measured(load_solution(folder), 40.0, 30.0, environment=an_environment())
    assert report.ok
    assert report.rungs[0].unchecked == "measured on Example CPU, 1 threads, this is AMD EPYC 9R14, 1 threads"


def test_a_rung_that_fails_is_data(folder: Path) -> None:
    report, session = measured(load_solution(folder), Status.WRONG_VALUES, 200.0)
    assert not report.ok
    assert [r.passed for r in report.rungs] == [False, True]
    assert report.rungs[1].gain is None, "there is nothing to compare it with"
    assert len(session.calls) == 2


def test_what_was_measured_is_written_back(folder: Path) -> None:
    report, _ = measured(load_solution(folder), 404.0, 205.0)
    write_back(report, folder)
    naive, passes = load_solution(folder).rungs
    assert (naive.latency_us["default"].median, passes.latency_us["default"].median) == (404.0, 205.0)
    assert passes.decision.measured is not None and passes.decision.measured.value == 1.9707
    assert passes.decision.measured.against == naive.candidate.id
    assert passes.speedup is not None and passes.speedup.against == "compile"
    assert naive.decision.measured is not None and naive.decision.measured.against == "compile"


def test_what_failed_keeps_what_it_states(folder: Path) -> None:
    before = load_solution(folder)
    report, _ = measured(before, Status.TIMEOUT, 205.0)
    write_back(report, folder)
    naive, passes = load_solution(folder).rungs
    assert naive == before.rungs[0]
    assert passes.latency_us["default"].median == 205.0


def test_a_report_goes_to_its_own_folder(folder: Path, tmp_path: Path) -> None:
    report, _ = measured(load_solution(folder), 400.0, 200.0)
    with pytest.raises(LibraryError, match="about box-blur"):
        write_back(report, tmp_path / "other")


def test_a_recipe_is_measured_through_what_it_is_bound_to(tmp_path: Path) -> None:
    folder = a_recipe_folder(tmp_path)
    solution = load_solution(folder)
    with pytest.raises(LibraryError, match="is a recipe"):
        measured(solution, 1.0, 1.0)

    def bound(rung: Rung) -> Candidate:
        return rung.candidate.model_copy(update={"flags": ("bound",)})

    times = {bound(r).id: t for r, t in zip(solution.rungs, (300.0, 150.0), strict=True)}
    task = a_task()
    report = verify(solution, task, lambda task: ScriptedSession(task, times), candidate_of=bound)
    assert report.ok and [r.gain.value if r.gain else None for r in report.rungs] == [220 / 300, 2.0]
    write_back(report, folder)
    tiles = load_solution(folder).rungs[1]
    assert tiles.decision.measured is not None
    assert tiles.decision.measured.against == load_solution(folder).rungs[0].candidate.id
    assert tiles.not_measured == ""


def test_a_recipe_that_does_not_fit(tmp_path: Path) -> None:
    solution = load_solution(a_recipe_folder(tmp_path))
    report = verify(solution, a_task(), lambda task: ScriptedSession(task, {}), candidate_of=lambda rung: None)
    assert not report.ok and [r.evaluation for r in report.rungs] == [None, None]
    assert report.as_session(solution).rungs == {}


class ChangingSession(ScriptedSession):
    """Times one candidate differently every time, as fresh processes do."""

    def __init__(self, task, times_us, changing: str, times: list[float], **options) -> None:
        super().__init__(task, times_us, **options)
        self.changing, self.times = changing, times

    def _judged(self, candidate: Candidate, other_us: float, against: str, depth: Depth) -> Evaluation:
        if candidate.id == self.changing and against != "compile":
            self.times_us = {**self.times_us, candidate.id: self.times.pop(0)}
        return super()._judged(candidate, other_us, against, depth)


def of_several_sessions(shelf: Path) -> Solution:
    """States 400 us, then a gain of 2x [1.95, 2.05] over four sessions."""
    measured = "measured: {value: 2.0, low: 1.95, high: 2.05, pairs: 40, "
    return load_solution(a_ladder_folder(shelf, edit={measured: f"{measured}sessions: 4, "}))


@pytest.mark.parametrize(
    ("times", "outside", "by_chance"),
    [([200.0], 0, 0), ([190.0, 201.0], 0, 1), ([190.0, 189.0], 1, 0), ([190.0, 240.0], 1, 0)],
    ids=["within", "within the second time", "outside twice", "outside on both sides"],
)
def test_what_several_sessions_state_is_contradicted_by_two(
    tmp_path: Path, times: list[float], outside: int, by_chance: int
) -> None:
    solution, first = of_several_sessions(tmp_path), times[0]
    naive, passes = (r.candidate.id for r in solution.rungs)
    session = ChangingSession(a_task(), {naive: 400.0, passes: 200.0}, passes, times, environment=THERE)
    report = verify(solution, session.task, lambda task: session)
    rung = report.rungs[1]
    assert (len(rung.outside), len(rung.by_chance)) == (outside, by_chance), rung
    assert report.ok == (outside == 0) and not times
    assert rung.gain is not None and rung.gain.value == pytest.approx(400 / first, abs=1e-3), "the first figure is told"
    assert rung.compared == 3
    if outside:
        assert rung.differs[0].startswith("gain 2.105x")
        assert "stated 2x [1.95, 2.05] over 4 sessions; measured again, gain" in rung.differs[0]


def test_the_baseline_that_a_number_is_over_is_asked_for(tmp_path: Path) -> None:
    asked: list[tuple[str, ...]] = []

    class Listening(ScriptedSession):
        def evaluate(self, candidate, *, depth, against=(), deadline_s=None):
            asked.append(tuple(against))
            return super().evaluate(candidate, depth=depth, against=against)

    solution = load_solution(a_ladder_folder(tmp_path))
    naive, passes = (r.candidate.id for r in solution.rungs)
    verify(solution, a_task(), lambda task: Listening(task, {naive: 400.0, passes: 200.0}, environment=THERE))
    assert asked == [(), ("compile",)], "the first rung states no ratio over a baseline"


def test_sessions_are_kept_and_stated_together(folder: Path) -> None:
    for passes_us in (200.0, 220.0, 210.0):
        report, _ = measured(load_solution(folder), 400.0, passes_us, noise=Noise(1.0, 1.0))
        write_back(report, folder)
    passes = load_solution(folder).rungs[1]
    gain = passes.decision.measured
    assert gain is not None and (gain.sessions, gain.pairs) == (3, 180)
    assert gain.value == pytest.approx((2.0 * 400 / 220 * 400 / 210) ** (1 / 3), abs=2e-3)
    assert gain.low < 400 / 220 and gain.high > 2.0
    assert passes.latency_us["default"].sessions == 3
    assert "sessions: 3" in (folder / "decisions.yaml").read_text()
    assert measured(load_solution(folder), 400.0, 215.0)[0].ok
    assert not measured(load_solution(folder), 400.0, 290.0)[0].ok


def test_a_screen_alone_states_nothing(folder: Path) -> None:
    before = (folder / "decisions.yaml").read_text()
    write_back(measured(load_solution(folder), 404.0, 205.0, depth=Depth.SCREEN)[0], folder)
    assert (folder / "decisions.yaml").read_text() == before
    write_back(measured(load_solution(folder), 400.0, 200.0)[0], folder)
    assert load_solution(folder).rungs[1].latency_us["default"].sessions == 2


class RestlessSession(ScriptedSession):
    """Calls its first verdicts UNSTABLE, then judges by its table."""

    restless = 1

    def _judged(self, candidate: Candidate, other_us: float, against: str, depth: Depth) -> Evaluation:
        self.restless -= 1
        if self.restless >= 0:
            return a_failure(candidate, Status.UNSTABLE, "fresh processes drift", depth=depth)
        return super()._judged(candidate, other_us, against, depth)


def three_rungs(folder: Path) -> Solution:
    """The ladder with a third rung, and nothing stated over a baseline."""
    solution = load_solution(folder)
    naive, passes = (r.model_copy(update={"speedup": None}) for r in solution.rungs)
    candidate = passes.candidate.model_copy(update={"flags": ("-ffast-math",)})
    links = {"parent": passes.candidate.id, "child": candidate.id}
    last = passes.model_copy(
        update={"name": "unrolled", "candidate": candidate, "decision": passes.decision.model_copy(update=links)}
    )
    return solution.model_copy(update={"rungs": (naive, passes, last)})


@pytest.mark.parametrize(("last_us", "over_best"), [(100.0, [True, False, True]), (300.0, [True, True, True])])
def test_the_best_baseline_is_asked_for_the_ends_and_the_fastest(
    folder: Path, last_us: float, over_best: list[bool]
) -> None:
    solution = three_rungs(folder)
    ids = [r.candidate.id for r in solution.rungs]
    session = ScriptedSession(a_task(), dict(zip(ids, (400.0, 200.0, last_us), strict=True)))
    report = verify(solution, session.task, lambda task: session)
    assert [r.speedup is not None for r in report.rungs] == over_best
    assert [r.gain.value for r in report.rungs if r.gain] == pytest.approx([0.55, 2.0, 200 / last_us], abs=1e-3)
    assert [r.latency_us["default"].median for r in report.rungs] == [400.0, 200.0, last_us]
    assert session.calls.count(("compare", ids[1], ids[0])) == 1


@pytest.mark.parametrize(("times", "passes"), [(1, True), (2, False)])
def test_an_unstable_verdict_is_asked_for_once_more(folder: Path, times: int, passes: bool) -> None:
    solution = load_solution(folder)
    ids = [r.candidate.id for r in solution.rungs]
    session = RestlessSession(a_task(), dict(zip(ids, (400.0, 200.0), strict=True)))
    session.restless = times
    report = verify(solution, session.task, lambda task: session)
    assert [r.passed for r in report.rungs] == [passes, True]
    assert session.calls[:2] == [("evaluate", ids[0])] * 2


def test_what_could_not_be_measured_says_why(tmp_path: Path) -> None:
    folder = a_recipe_folder(tmp_path)
    solution = load_solution(folder)
    session = RestlessSession(a_task(), {r.candidate.id: 100.0 for r in solution.rungs})
    session.restless = 2
    write_back(verify(solution, session.task, lambda task: session, candidate_of=lambda rung: rung.candidate), folder)
    first, second = load_solution(folder).rungs
    assert first.not_measured == "not measured: UNSTABLE: fresh processes drift" and not first.latency_us
    assert second.latency_us and second.not_measured == ""
