"""The shipped CPU solutions: how many there are, for which kinds of work, and that each can be measured."""

from pathlib import Path

import pytest

from kernelwright.memory.documents import device_of
from kernelwright.memory.solution_files import load_solution
from kernelwright.report.figures import format_interval, format_ratio

KNOWLEDGE = Path(__file__).parents[2] / "knowledge"
ON_CPU = {
    s.id: s
    for s in (load_solution(f.parent, origin="shipped") for f in sorted(KNOWLEDGE.glob("solutions/*/solution.yaml")))
    if device_of(s) == "cpu"
}
BLUR_PAGE = KNOWLEDGE.parent / "docs" / "blur-ladder.md"
LADDERS = {id: s for id, s in ON_CPU.items() if 3 <= len(s.rungs) <= 7}
FAMILIES = {"stencil", "elementwise", "softmax", "norm", "reduction", "scan", "pooling", "matmul", "convolution",
            "attention", "loss"}  # fmt: skip


def test_there_are_ladders_for_every_kind_of_work() -> None:
    assert len(LADDERS) >= 24
    assert {s.family for s in LADDERS.values()} >= FAMILIES
    assert sum("depthwise" in id for id in LADDERS) >= 2, "depthwise work is of family convolution, as its task is"


@pytest.mark.parametrize("id", ON_CPU)
def test_each_names_the_task_that_it_is_measured_on(id: str) -> None:
    solution = ON_CPU[id]
    assert (KNOWLEDGE / "tasks" / (solution.task or solution.measured_task)).is_dir()
    assert not (solution.task and solution.measured_task)


@pytest.mark.parametrize("id", ON_CPU)
def test_every_rung_says_what_it_bought_or_why_not(id: str) -> None:
    for rung in ON_CPU[id].rungs:
        decision = rung.decision
        assert rung.latency_us or rung.not_measured
        assert not (rung.latency_us and rung.not_measured)
        assert not rung.latency_us or (decision.measured is not None and rung.environment is not None)
        assert decision.bottleneck and (decision.hypothesis or decision.evidence or rung is ON_CPU[id].rungs[0])


def test_the_page_of_the_blur_shows_its_ladder_as_it_is_kept() -> None:
    text = BLUR_PAGE.read_text(encoding="utf-8").partition("<!-- blur-ladder:begin -->")[2].partition("<!--")[0]
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()[2:]]
    kept = [
        [
            *(format_interval(i, "ms") for i in rung.latency_us.values()),
            format_ratio(rung.speedup),
            format_ratio(rung.decision.measured) if number else "-",
        ]
        for number, rung in enumerate(ON_CPU["cpp-box-blur"].rungs)
    ]
    assert [row[1:] for row in shown] == kept


def test_two_dozen_ladders_have_three_to_seven_measured_rungs() -> None:
    measured = {id: sum(bool(r.latency_us) for r in s.rungs) for id, s in LADDERS.items()}
    assert sum(3 <= rungs <= 7 for rungs in measured.values()) >= 24, measured
