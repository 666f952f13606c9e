"""Sessions beside an entry: kept line by line, and counted together only where they speak of the same thing."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.solutions import a_ladder_folder

from kernelwright.memory.ladder_sessions import (
    SESSIONS_FILE,
    LadderSession,
    RungSession,
    comparable,
    keep_session,
    pooled,
    sessions_of,
)
from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Depth, Environment, Interval, Ratio, Solution

HERE = Environment(cpu="Example CPU", isa="avx512", compiler="g++ 12.2.0", versions={"torch": "2.13.0"}, load_1m=0.1)


def a_time(us: float) -> dict[str, Interval]:
    return {"default": Interval(median=us, low=us * 0.99, high=us * 1.01, samples=15)}


def over(value: float, against: str) -> Ratio:
    return Ratio(value=value, low=value * 0.99, high=value * 1.01, pairs=15, against=against)


def a_session(
    solution: Solution,
    naive_us: float,
    passes_us: float,
    *,
    depth: Depth = Depth.FULL,
    environment: Environment = HERE,
    best: str = "compile",
    left_out: str = "",
) -> LadderSession:
    naive, passes = solution.rungs
    rungs = {
        naive.name: RungSession(
            candidate=naive.candidate.id, latency_us=a_time(naive_us), gain=over(220 / naive_us, best)
        ),
        passes.name: RungSession(
            candidate=passes.candidate.id,
            latency_us=a_time(passes_us),
            gain=over(naive_us / passes_us, naive.candidate.id),
            speedup=over(220 / passes_us, best),
        ),
    }
    kept = {name: rung for name, rung in rungs.items() if name != left_out}
    return LadderSession(task="t", at="2026-01-31T12:00:00", depth=depth, environment=environment, rungs=kept)


@pytest.fixture
def solution(tmp_path: Path) -> Solution:
    return load_solution(a_ladder_folder(tmp_path))


def test_what_is_kept_is_read_again(solution: Solution, tmp_path: Path) -> None:
    sessions = [a_session(solution, 400, 200), a_session(solution, 410, 190, depth=Depth.SCREEN)]
    for session in sessions:
        keep_session(tmp_path / "box-blur", session)
    assert sessions_of(tmp_path / "box-blur") == sessions
    lines = (tmp_path / "box-blur" / SESSIONS_FILE).read_text().splitlines()
    assert len(lines) == 2 and lines[0].startswith('{"format":"kernelwright/ladder_session/1",')
    load_solution(tmp_path / "box-blur")


def test_sessions_count_together(solution: Solution) -> None:
    found = pooled(
        solution, [a_session(solution, 400, 200), a_session(solution, 400, 160), a_session(solution, 400, 180)]
    )
    gain = found["two-passes"].gain
    assert gain is not None and gain.sessions == 3
    assert gain.value == pytest.approx((2.0 * 2.5 * 400 / 180) ** (1 / 3))
    assert gain.low < 2.0 and gain.high > 2.5
    assert found["naive"].latency_us["default"].median == pytest.approx(400)


@pytest.mark.parametrize(
    "change",
    [{"cpu": "Another"}, {"threads": 2}, {"compiler": "g++ 13.1.0"}, {"versions": {"torch": "2.14.0"}}, {"judge": 2}],
    ids=["cpu", "threads", "compiler", "package", "judge"],
)
def test_sessions_under_other_conditions_do_not_count(solution: Solution, change: Mapping[str, object]) -> None:
    new = a_session(solution, 400, 200)
    old = a_session(solution, 300, 100, environment=HERE.model_copy(update=change))
    busier = a_session(solution, 380, 200, environment=HERE.model_copy(update={"load_1m": 0.4}))
    assert comparable(solution, [old, busier, new], new) == [busier, new]


def test_sessions_from_before_versions_count_with_those_of_the_first_judge(solution: Solution) -> None:
    first = a_session(solution, 400, 200, environment=HERE.model_copy(update={"judge": 1}))
    before, second = a_session(solution, 410, 200), a_session(
        solution, 400, 100, environment=HERE.model_copy(update={"judge": 2})
    )
    assert comparable(solution, [before, first, second], first) == [before, first]


def test_sessions_of_other_sources_do_not_count(solution: Solution) -> None:
    new = a_session(solution, 400, 200)
    naive, passes = solution.rungs
    candidate = passes.candidate.model_copy(update={"flags": ("-O2",)})
    changed = solution.model_copy(update={"rungs": (naive, passes.model_copy(update={"candidate": candidate}))})
    assert comparable(changed, [new], a_session(changed, 400, 200)) == []


def test_what_was_only_screened_is_not_stated(solution: Solution) -> None:
    screens = [a_session(solution, 400, 200, depth=Depth.SCREEN) for _ in range(3)]
    assert pooled(solution, screens) == {}
    judged = a_session(solution, 400, 210, left_out="naive")
    found = pooled(solution, [*screens, judged])
    assert set(found) == {"two-passes"}, "the first rung was never judged in full"
    assert found["two-passes"].latency_us["default"].sessions == 4


def test_ratios_over_different_baselines_are_not_mixed(solution: Solution) -> None:
    sessions = [a_session(solution, 400, 200, best=best) for best in ("compile", "eager", "compile")]
    speedup = pooled(solution, sessions)["two-passes"].speedup
    assert speedup is not None and (speedup.against, speedup.sessions) == ("compile", 2)
