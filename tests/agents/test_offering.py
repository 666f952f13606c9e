"""What a run offers to the library, and when: its ladder, what came to nothing, whose licences hold."""

import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.records import a_candidate, a_decision, a_ratio, a_task, an_evaluation, some_facts
from fakes.solutions import a_ladder_folder

from kernelwright.agents.finish import finish_run
from kernelwright.agents.offering import MOST_REJECTED, solution_of
from kernelwright.config import load_config
from kernelwright.memory.library import Library
from kernelwright.memory.recall import LibraryRecall
from kernelwright.memory.solution_files import load_solution
from kernelwright.protocols import Recalled
from kernelwright.records import Candidate, Depth, ReviewState, Solution
from kernelwright.workspace import Workspace

ADOPTED, WINNER = a_candidate("adopted"), a_candidate("winner")


def a_precedent(shelf: Path, licence: str = "Apache-2.0") -> Recalled:
    found = load_solution(a_ladder_folder(shelf, edit={"licence: Apache-2.0": f"licence: {licence}"}))
    return Recalled(solution=found, score=1.0, reasons=(), same_task=False)


def a_context(
    place: Path,
    recalled: Sequence[Recalled] = (),
    *,
    licence: str = "MIT",
    source: str = "solution:box-blur#1",
    again: Sequence[Recalled] = (),
    adopted_at: Depth = Depth.FULL,
) -> Any:
    """A run that adopted a rung of box-blur and then made it faster; ``again`` is what a second recall would find."""
    folder, task = Workspace.open(place).new_run("blur"), a_task(licence=licence)
    for candidate, depth in ((ADOPTED, adopted_at), (WINNER, Depth.CONFIRMED)):
        folder.add_candidate(candidate)
        folder.add_evaluation(an_evaluation(candidate, speedup=1.5, latency_us={"default": 100.0}, depth=depth))
    measured = a_ratio(1.2, "compile")
    folder.add_decision(a_decision("separable-window", source=source, child=ADOPTED.id, measured=measured))
    folder.add_decision(a_decision("prefetch", parent=ADOPTED.id, child=WINNER.id, verdict="confirmed"))
    return SimpleNamespace(
        task=task, folder=folder, recalled=list(recalled), session=SimpleNamespace(facts=some_facts(task)),
        config=load_config(), roles=SimpleNamespace(recall=SimpleNamespace(recall=lambda *_, **__: list(again))),
        best_evaluation=lambda id: folder.evaluations(id)[-1],
    )  # fmt: skip


def offered(context: Any) -> Solution:
    winner: Candidate = WINNER
    return solution_of(context, winner, context.best_evaluation(winner.id))


def test_the_ladder_names_what_else_was_tried_at_each_step(tmp_path: Path) -> None:
    context = a_context(tmp_path / "ws", [a_precedent(tmp_path)])
    lost = [
        a_decision("unroll", parent=ADOPTED.id, child="c1", verdict="failed", learned="WRONG_VALUES: at [3]"),
        a_decision("threads", parent=ADOPTED.id, child="c2", verdict="refuted", measured=a_ratio(0.8, ADOPTED.id)),
        a_decision("idle", parent=ADOPTED.id, child="c3", verdict="neutral"),
        a_decision("elsewhere", parent=WINNER.id, child="c4", verdict="failed", learned="x"),
    ]
    for decision in lost:
        context.folder.add_decision(decision)
    first, second = offered(context).rungs
    assert first.rejected == ()
    assert [(r.what.partition(":")[0], r.why) for r in second.rejected] == [
        ("threads", "measured 0.80x"), ("unroll", "WRONG_VALUES: at [3]"),
    ]  # fmt: skip


def test_what_was_only_screened_states_no_number(tmp_path: Path) -> None:
    """Ladders are evidence, and statistics rest on judgements in full."""
    context = a_context(tmp_path / "ws", [a_precedent(tmp_path)], adopted_at=Depth.SCREEN)
    first, second = offered(context).rungs
    assert (first.not_measured, first.latency_us, first.speedup, first.decision.measured) == (
        "it was only screened", {}, None, None,
    )  # fmt: skip
    assert second.latency_us and second.speedup is not None and second.not_measured == ""


def test_of_many_failures_the_newest_are_named(tmp_path: Path) -> None:
    context = a_context(tmp_path / "ws", [a_precedent(tmp_path)])
    for number in range(MOST_REJECTED + 3):
        fields = {"parent": ADOPTED.id, "child": f"c{number}", "verdict": "failed", "learned": "long " * 200}
        context.folder.add_decision(a_decision(f"try-{number}", **fields))
    told = offered(context).rungs[1].rejected
    assert len(told) == MOST_REJECTED and told[0].what.startswith(f"try-{MOST_REJECTED + 2}:")
    assert max(len(r.why) for r in told) <= 300


@pytest.mark.parametrize(
    ("of_task", "of_code", "expected"),
    [
        ("Apache-2.0", "Apache-2.0", "Apache-2.0"),
        ("MIT", "GPL-3.0-only", "MIT AND GPL-3.0-only"),
        ("MIT", "GPL-2.0-only OR BSL-1.0", "MIT AND (GPL-2.0-only OR BSL-1.0)"),
        ("unstated", "Apache-2.0", "unstated AND Apache-2.0"),
        ("", "Apache-2.0", ""),
    ],
)
def test_the_licence_of_adapted_code_stays_with_it(tmp_path: Path, of_task: str, of_code: str, expected: str) -> None:
    context = a_context(tmp_path / "ws", [a_precedent(tmp_path, of_code)], licence=of_task)
    found = offered(context)
    assert found.licence == expected
    assert "adapted from box-blur by A. Author (lecture on scheduling, page 12)" in found.provenance.source


def test_a_run_that_goes_on_at_its_end_recalls_whose_code_it_adapted(tmp_path: Path) -> None:
    precedent = a_precedent(tmp_path)
    found = offered(a_context(tmp_path / "ws", again=[precedent]))
    assert found.licence == "MIT AND Apache-2.0" and found.applies == precedent.solution.applies


def test_code_of_nobody_knows_whom_is_not_taken(tmp_path: Path) -> None:
    """The solution that was adapted is gone from its shelf: its licence is not known, so the door stays shut."""
    found = offered(a_context(tmp_path / "ws"))
    refused = Library(user=tmp_path / "shelf", shipped=None).propose(found)
    assert found.licence == "" and not refused.accepted and "licence" in refused.reason


def test_what_came_from_no_solution_has_the_tasks_licence(tmp_path: Path) -> None:
    context = a_context(tmp_path / "ws", source="search")
    found = offered(context)
    assert found.licence == "MIT" and found.provenance.source == f"run {context.folder.run_id}"


def ended(tmp_path: Path, *, speedup: float = 1.5, confirm: bool = True, stopped: bool = False) -> list[str]:
    """What a run says of the library when it ends; its winner is confirmed at this speed-up."""
    context, told = a_context(tmp_path / "ws", [a_precedent(tmp_path)]), []
    library = Library(user=tmp_path / "shelf", shipped=None)
    context.stop = threading.Event()
    if stopped:
        context.stop.set()
    config = load_config(values={"judge.confirm": confirm})
    judged = {"latency_us": {"default": 100.0}, "speedup": speedup}
    context.config, context.summary = config, SimpleNamespace(candidates=2, reason="", nearest=())
    context.counts, context.stored = (lambda evaluation: evaluation.passed), (lambda *_: None)
    context.evaluate = lambda candidate, depth: an_evaluation(candidate, **judged, depth=depth)
    context.best_evaluation = lambda id: an_evaluation(id, **judged)
    context.update, context.write_report = (lambda **_: None), (lambda folder: None)
    context.session.export, context.roles.models = (lambda candidate: "class ModelNew: ..."), None
    context.offer = lambda solution: library.propose(solution).reason
    context.emit = lambda kind, text, **_: told.append(text) if kind == "library" else None
    finish_run(context, {"judged": [{"candidate": WINNER.id, "score": speedup}]})
    return told


def test_a_confirmed_winner_is_proposed_and_not_trusted(tmp_path: Path) -> None:
    name = f"cpp-{a_task().name.replace('_', '-')}-{WINNER.id[:6]}"
    assert ended(tmp_path) == [f"proposed as {name}"]
    library = Library(user=tmp_path / "shelf", shipped=None)
    entry = library.get(name)
    assert entry.review.state is ReviewState.PROPOSED and [r.decision.technique for r in entry.rungs] == [
        "separable-window", "prefetch",
    ]  # fmt: skip
    found = LibraryRecall(library).recall(a_task(), some_facts(a_task()), languages=["cpp"])
    assert found == [], "nothing is recalled that nobody promoted"
    again = ended(tmp_path)
    assert "near-duplicate" in again[0] and name in again[0]


@pytest.mark.parametrize("end", [{"speedup": 0.9}, {"confirm": False}, {"stopped": True}], ids=str)
def test_what_was_not_confirmed_to_be_faster_is_not_offered(tmp_path: Path, end: dict[str, Any]) -> None:
    assert ended(tmp_path, **end) == [] and not (tmp_path / "shelf").exists()
