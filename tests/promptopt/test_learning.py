"""What is learned after a run: over real run folders, by several processes at once, and never at the run's expense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from fakes.records import a_candidate, a_decision, a_failure, a_ratio, a_task, an_evaluation

from kernelwright.config import RunConfig, load_config
from kernelwright.errors import ModelError
from kernelwright.memory.evidence import Evidence
from kernelwright.memory.library import Library
from kernelwright.promptopt.digest import digest, finished_decisions
from kernelwright.promptopt.learning import TOLD, learn_after_run, read_by_model
from kernelwright.promptopt.shelves import LessonShelf
from kernelwright.promptopt.versions import PromptStore
from kernelwright.records import Depth, LessonState, RunSummary, Status
from kernelwright.workspace import Workspace


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "ws")


def ended_run(place: Workspace, technique: str, gain: float | None) -> None:
    """A finished run with one decision: a gain over its parent, or a refusal."""
    folder = place.new_run("any")
    folder.save(a_task(family="scan"), folder.task_file)
    parent, child = a_candidate("parent"), a_candidate(f"{technique} {gain} {folder.run_id}")
    folder.add_candidate(child)
    if gain is None:
        folder.add_evaluation(a_failure(child, Status.WRONG_VALUES, "wrong at [3]", depth=Depth.FULL))
    else:
        folder.add_evaluation(an_evaluation(child, speedup=gain, depth=Depth.FULL))
    measured = a_ratio(gain, parent.id) if gain else None
    folder.add_decision(a_decision(technique, parent=parent.id, child=child.id, measured=measured))
    summary = RunSummary(run_id=folder.run_id, task_name="any", task_id="t", engine="search", state="finished")
    folder.save(summary, folder.summary_file)


def evidence_of(place: Workspace, tmp_path: Path) -> Evidence:
    return Evidence(Library(user=tmp_path / "none", shipped=tmp_path / "none2"), runs=place.runs)


def test_runs_teach_until_a_lesson_is_active_and_the_prompts_say_so(place: Workspace, tmp_path: Path) -> None:
    told: list[str] = []
    for _ in range(3):
        ended_run(place, "scan-by-blocks", 1.5)
        told += learn_after_run(place, evidence_of(place, tmp_path))
    assert told[0].startswith("lesson proposed: scan-by-blocks-for-")
    assert any("proposed -> active (3 decisions for it, 0 against" in line for line in told)
    assert any(line.startswith("coder prompt is now v") for line in told)
    store = PromptStore(place.prompts, "coder")
    assert store.current is not None and "scan-by-blocks" in store.text(store.current.id)
    for _ in range(2):
        ended_run(place, "scan-by-blocks", None)
    told = learn_after_run(place, evidence_of(place, tmp_path))
    assert any("active -> disputed" in line for line in told)
    left = PromptStore(place.prompts, "coder").current.lessons  # type: ignore[union-attr]
    assert not any(id.startswith("scan-by-blocks") for id in left), "what is shipped as active stays"


def test_a_run_that_teaches_nothing_says_nothing(place: Workspace, tmp_path: Path) -> None:
    assert learn_after_run(place, evidence_of(place, tmp_path)) == []
    store = PromptStore(place.prompts, "coder")
    assert store.current is not None and store.current.lessons, "the shipped lessons are taken up all the same"


def test_many_proposals_are_counted(place: Workspace, tmp_path: Path) -> None:
    for number in range(TOLD + 2):
        ended_run(place, f"trick-{number}", 1.5)
    told = learn_after_run(place, evidence_of(place, tmp_path))
    assert len(told) == TOLD + 1 and told[-1] == "and 2 more lessons: kernelwright lessons list"


def test_what_goes_wrong_costs_the_run_nothing(place: Workspace, tmp_path: Path) -> None:
    ended_run(place, "scan-by-blocks", 1.5)
    place.prompts.parent.mkdir(exist_ok=True)
    place.prompts.write_text("a file where a folder should be")
    assert learn_after_run(place, evidence_of(place, tmp_path)) == []


def test_a_model_reads_the_runs_and_its_lessons_are_counted(place: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("dspy", reason="the llm extra is not installed")
    for gain in (1.5, 1.6, None):
        ended_run(place, "scan-by-blocks", gain)
    read = digest(finished_decisions(place.runs))
    assert "refused, WRONG_VALUES: wrong at [3]" in read.text and "over the parent" in read.text
    row = {"when": "a scan waits for the element before", "do": "scan blocks apart", "technique": "scan-by-blocks"}
    script = tmp_path / "script.yaml"
    script.write_text(yaml.safe_dump([json.dumps([{**row, "decisions": list(read.labels)}])]))
    config = load_config(values={"models.model": f"scripted:{script}"})
    found = read_by_model(place, config, evidence_of(place, tmp_path).observations())
    (lesson,) = found.lessons
    assert (lesson.evidence.n, lesson.evidence.failures, lesson.scope.families) == (2, 1, ("scan",))
    assert lesson.state is LessonState.PROPOSED and not LessonShelf(place.lessons, with_shipped=False).lessons


def scripted(tmp_path: Path, *answers: str, **values: object) -> RunConfig:
    script = tmp_path / "script.yaml"
    script.write_text(yaml.safe_dump(list(answers)))
    return load_config(values={"models.model": f"scripted:{script}", **values})


ROW = {"when": "a scan waits for the element before", "do": "scan blocks apart", "technique": "scan-by-blocks"}
READ = json.dumps([{**ROW, "decisions": ["D1"]}, {**ROW, "when": "any kernel is written", "decisions": ["D1"]}])


def test_at_a_runs_end_its_model_reads_too_where_that_is_asked_for(place: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("dspy", reason="the llm extra is not installed")
    ended_run(place, "scan-by-blocks", 1.5)
    asked = scripted(tmp_path, READ, **{"models.distill": True})
    told = learn_after_run(place, evidence_of(place, tmp_path), asked)
    proposed = [line for line in told if line.startswith("lesson proposed: scan-by-blocks-for-")]
    assert len(proposed) == 2, "one of statistics, one of the model"
    assert [line for line in told if "the model's lesson was refused: over-general" in line]
    not_asked = scripted(tmp_path, READ)
    assert learn_after_run(place, evidence_of(place, tmp_path), not_asked) == []


def test_an_answer_that_is_no_list_is_asked_for_again_and_costs_the_run_nothing(
    place: Workspace, tmp_path: Path
) -> None:
    pytest.importorskip("dspy", reason="the llm extra is not installed")
    ended_run(place, "scan-by-blocks", 1.5)
    seen = evidence_of(place, tmp_path).observations()
    bad = scripted(tmp_path, "I cannot.", "Nor now.", **{"models.format_retries": 1, "models.distill": True})
    with pytest.raises(ModelError, match="no list of lessons"):
        read_by_model(place, bad, seen)
    told = learn_after_run(place, evidence_of(place, tmp_path), bad)
    assert any(line.startswith("lesson proposed: ") for line in told), "what statistics say stands"
    ended_run(place, "scan-by-blocks", 1.6)
    better = scripted(tmp_path, "I cannot.", "Nor now.", "Still not.", READ, **{"models.format_retries": 1})
    assert len(read_by_model(place, better, evidence_of(place, tmp_path).observations()).lessons) == 1


def test_a_model_that_cannot_be_asked_is_told_without_a_traceback(place: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("dspy", reason="the llm extra is not installed")
    ended_run(place, "scan-by-blocks", 1.5)
    silent = scripted(tmp_path, **{"models.distill": True, "models.retries": 0})
    with pytest.raises(ModelError, match="no further answer"):
        read_by_model(place, silent, evidence_of(place, tmp_path).observations())
    told = learn_after_run(place, evidence_of(place, tmp_path), silent)
    assert any(line.startswith("lesson proposed: ") for line in told)
