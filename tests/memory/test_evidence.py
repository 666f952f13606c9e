"""What decisions bought, counted over real run folders and measured ladders."""

import json
from pathlib import Path

import pytest
from fakes.records import a_candidate, a_decision, a_failure, a_ratio, a_task, an_evaluation
from fakes.solutions import a_ladder_folder, a_recipe_folder

from kernelwright.memory import evidence as evidence_module
from kernelwright.memory.evidence import Evidence, EvidenceRow, median_interval
from kernelwright.memory.library import Library
from kernelwright.memory.recall import LibraryRecall
from kernelwright.records import Candidate, Depth, Status
from kernelwright.workspace import RunFolder, Workspace

PARENT = a_candidate("parent")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "ws")


def a_run(workspace: Workspace, family: str = "stencil") -> RunFolder:
    folder = workspace.new_run("task")
    folder.save(a_task(family=family), folder.task_file)
    return folder


def judged(
    folder: RunFolder,
    technique: str,
    gain: float | None,
    *,
    depth: Depth = Depth.FULL,
    child: Candidate | None = None,
    parent: Candidate | None = PARENT,
    device: str = "cpu",
    **fields,
) -> None:
    """A decision with its child judged: a gain, or None for a refusal."""
    child = child or a_candidate(f"{technique} {gain} {folder.run_id}")
    folder.add_candidate(child)
    against = parent.id if parent else "compile"
    if gain is None:
        folder.add_evaluation(a_failure(child, Status.WRONG_VALUES, "wrong", depth=depth, device=device))
    else:
        folder.add_evaluation(an_evaluation(child, speedup=1.0, depth=depth, device=device))
    folder.add_decision(
        a_decision(
            technique,
            **{"parameters": {"size": gain}, **fields},
            parent=parent.id if parent else None,
            child=child.id,
            measured=a_ratio(gain, against) if gain else None,
            verdict="confirmed" if gain else "failed",
        )
    )


def evidence_of(workspace: Workspace, *, library: Path | None = None, state: Path | None = None) -> Evidence:
    return Evidence(Library(user=library, shipped=None), runs=workspace.runs, state_file=state)


def counts(rows: list[EvidenceRow]) -> dict[str, tuple[int, int]]:
    return {row.technique: (row.n, row.failures) for row in rows}


def test_gains_and_failures_are_counted_by_technique(workspace: Workspace) -> None:
    first, second = a_run(workspace), a_run(workspace)
    for folder, gain in ((first, 1.2), (first, 1.4), (second, 2.0), (second, None)):
        judged(folder, "tile", gain)
    judged(first, "unroll", 0.9)

    tile, unroll = evidence_of(workspace).techniques(family="stencil")

    assert (tile.technique, tile.n, tile.failures, tile.median_gain) == ("tile", 3, 1, 1.4)
    assert tile.low is not None and tile.high is not None and 1.2 <= tile.low <= 1.4 <= tile.high <= 2.0
    assert (unroll.n, unroll.failures, unroll.median_gain) == (1, 0, 0.9)


def test_a_screened_decision_does_not_count(workspace: Workspace) -> None:
    folder = a_run(workspace)
    judged(folder, "tile", 3.0, depth=Depth.SCREEN)
    judged(folder, "unroll", None, depth=Depth.SCREEN)
    judged(folder, "fuse", 1.5, depth=Depth.CONFIRMED)
    assert counts(evidence_of(workspace).rows()) == {"fuse": (1, 0)}


def test_the_more_thorough_verdict_stands(workspace: Workspace) -> None:
    folder, child = a_run(workspace), a_candidate("flaky")
    judged(folder, "tile", 1.5, child=child)
    folder.add_evaluation(a_failure(child, Status.WRONG_VALUES, "differs", depth=Depth.CONFIRMED))
    folder.add_evaluation(an_evaluation(child, speedup=1.5, depth=Depth.SCREEN))
    assert counts(evidence_of(workspace).rows()) == {"tile": (0, 1)}


def test_what_is_nobodys_fault_is_no_failure(workspace: Workspace) -> None:
    folder, child = a_run(workspace), a_candidate("x")
    folder.add_candidate(child)
    folder.add_evaluation(a_failure(child, Status.REFERENCE_BROKEN, "the reference", depth=Depth.FULL))
    folder.add_decision(a_decision("tile", parent=PARENT.id, child=child.id))
    assert evidence_of(workspace).rows() == []


def test_kinds_are_kept_apart(workspace: Workspace) -> None:
    judged(a_run(workspace, "stencil"), "tile", 1.5)
    judged(a_run(workspace, "matmul"), "tile", 3.0)
    judged(a_run(workspace, "matmul"), "tile", 4.0, device="cuda:1")
    evidence = evidence_of(workspace)
    assert {(r.family, r.device, r.median_gain) for r in evidence.rows()} == {
        ("stencil", "cpu", 1.5), ("matmul", "cpu", 3.0), ("matmul", "cuda", 4.0),
    }  # fmt: skip
    assert [t.median_gain for t in evidence.techniques(family="matmul", device="cpu")] == [3.0]
    assert [t.n for t in evidence.techniques(language="cpp", bottleneck="memory")] == [3]
    assert evidence.techniques(language="halide") == []


def test_whole_kernels_and_steps_are_not_mixed(workspace: Workspace) -> None:
    folder = a_run(workspace)
    judged(folder, "tile", 1.5)
    judged(folder, "tile", 9.0, parent=None)
    evidence = evidence_of(workspace)
    assert {(r.over, r.median_gain) for r in evidence.rows()} == {("parent", 1.5), ("baseline", 9.0)}
    assert [(t.n, t.median_gain) for t in evidence.techniques()] == [(1, 1.5)]


def test_the_latest_form_of_a_decision_counts_once(workspace: Workspace) -> None:
    folder, child = a_run(workspace), a_candidate("x")
    folder.add_decision(a_decision("tile", parent=PARENT.id))
    evidence = evidence_of(workspace)
    assert evidence.rows() == []
    folder.add_decision(a_decision("tile", parent=PARENT.id, child=child.id))
    judged(folder, "tile", 1.5, child=child, parameters={})
    assert counts(evidence.rows()) == {"tile": (1, 0)}


def test_only_what_is_new_is_read(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parsed: list[str] = []
    real = json.loads

    class Counting:
        JSONDecodeError = json.JSONDecodeError
        dumps = staticmethod(json.dumps)

        @staticmethod
        def loads(text):
            value = real(text)
            if isinstance(value, dict) and value.get("format", "").startswith(
                ("kernelwright/decision/", "kernelwright/eval")
            ):
                parsed.append(value["format"])
            return value

    monkeypatch.setattr(evidence_module, "json", Counting)
    folder, state = a_run(workspace), tmp_path / "state.json"
    judged(folder, "tile", 1.5)
    evidence = evidence_of(workspace, state=state)
    evidence.rows()
    assert len(parsed) == 2
    evidence.rows()
    assert len(parsed) == 2
    judged(folder, "fuse", 1.5)
    assert counts(evidence.rows()) == {"tile": (1, 0), "fuse": (1, 0)}
    assert len(parsed) == 4
    # The next process starts where this one stopped.
    assert counts(evidence_of(workspace, state=state).rows()) == {"tile": (1, 0), "fuse": (1, 0)}
    assert len(parsed) == 4


@pytest.mark.parametrize(
    "damage", ["{", "[]", '{"format": "kernelwright/evidence-state/0", "runs": {}}', '{"format": 1}']
)
def test_a_damaged_state_is_rebuilt(workspace: Workspace, tmp_path: Path, damage: str) -> None:
    judged(a_run(workspace), "tile", 1.5)
    state = tmp_path / "state.json"
    state.write_text(damage)
    assert counts(evidence_of(workspace, state=state).rows()) == {"tile": (1, 0)}


def test_a_half_written_last_line_waits_for_its_rest(workspace: Workspace) -> None:
    folder = a_run(workspace)
    judged(folder, "tile", 1.5)
    whole = folder.decisions_file.read_bytes()
    evidence = evidence_of(workspace)
    for end in range(len(whole)):
        folder.decisions_file.write_bytes(whole[:end])
        assert evidence.rows() == []
    folder.decisions_file.write_bytes(whole)
    assert counts(evidence.rows()) == {"tile": (1, 0)}


def test_torn_lines_are_skipped(workspace: Workspace) -> None:
    folder = a_run(workspace)
    with folder.decisions_file.open("ab") as stream:
        stream.write(
            b'{"format": "kernelwright/decision/1", "techn\n\xff\xfe\n[1]\n{"format": "kernelwright/task/1"}\n{"tec'
        )
    judged(folder, "tile", 1.5)
    assert counts(evidence_of(workspace).rows()) == {"tile": (1, 0)}


def test_a_run_that_was_removed_or_begun_anew(workspace: Workspace) -> None:
    first, second = a_run(workspace), a_run(workspace)
    judged(first, "tile", 1.5)
    judged(first, "tile", 1.7)
    judged(second, "fuse", 1.5)
    evidence = evidence_of(workspace)
    assert counts(evidence.rows()) == {"tile": (2, 0), "fuse": (1, 0)}
    second.decisions_file.unlink()
    first.decisions_file.write_text(first.decisions_file.read_text().splitlines()[0] + "\n")
    assert counts(evidence.rows()) == {"tile": (1, 0)}


def test_measured_rungs_of_the_library_count(workspace: Workspace, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    a_ladder_folder(shelf, "blur")
    a_ladder_folder(shelf, "refused", state="rejected", edit={"technique: separable-window": "technique: other"})
    a_recipe_folder(shelf, "not-measured")
    rows = evidence_of(workspace, library=shelf).rows()
    assert {(r.technique, r.over, r.n, r.median_gain, r.low, r.device) for r in rows} == {
        ("naive", "baseline", 1, 0.5, 0.48, "cpu"), ("separable-window", "parent", 1, 2.0, 1.95, "cpu"),
    }  # fmt: skip


def test_a_runs_decision_and_its_copy_in_the_library_are_one(workspace: Workspace, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    a_ladder_folder(shelf, "blur")
    naive, passes = Library(user=shelf, shipped=None).get("blur").rungs
    judged(a_run(workspace), "separable-window", 2.1, child=passes.candidate, parent=naive.candidate)
    assert counts(evidence_of(workspace, library=shelf).rows()) == {"separable-window": (1, 0), "naive": (1, 0)}


def test_recall_hands_the_evidence_on(workspace: Workspace) -> None:
    judged(a_run(workspace), "tile", 1.5)
    recall = LibraryRecall(Library(shipped=None), evidence_of(workspace))
    assert [e.technique for e in recall.evidence(family="stencil", language="cpp")] == ["tile"]
    assert recall.evidence(family="norm") == []


def test_without_runs_there_is_nothing(tmp_path: Path) -> None:
    assert Evidence(Library(shipped=None), runs=tmp_path / "nowhere").techniques() == []


def test_the_interval_of_a_median() -> None:
    gains = [a_ratio(1.0 + i / 10) for i in range(21)]
    median, low, high = median_interval(gains)
    assert median == 2.0 and 1.3 < low < 1.9 and 2.1 < high < 2.7
    assert median_interval(gains) == (median, low, high)
    assert median_interval([a_ratio(2.0, spread=0.1)]) == (2.0, 1.8, 2.2)
    assert median_interval([a_ratio(2.0)] * 5) == (2.0, 2.0, 2.0)


def test_a_busy_machine_says_nothing_about_a_technique(workspace: Workspace) -> None:
    """The judge's own control failed at the confirmation: the full judgement before it stands."""
    folder, child = a_run(workspace), a_candidate("steady")
    judged(folder, "tile", 1.5, child=child)
    folder.add_evaluation(a_failure(child, Status.UNSTABLE, "the control", depth=Depth.CONFIRMED))
    assert counts(evidence_of(workspace).rows()) == {"tile": (1, 0)}


def test_what_decides_nothing_is_no_evidence(workspace: Workspace) -> None:
    folder = a_run(workspace)
    judged(folder, "steady", 1.3)
    for technique, ratio in (
        ("disturbed", a_ratio(4.0, PARENT.id, spread=0.6)),
        ("over-the-baseline", a_ratio(4.0, "compile")),
    ):
        judged(folder, technique, 1.3)
        latest = next(d for d in folder.decisions() if d.technique == technique)
        folder.add_decision(latest.model_copy(update={"measured": ratio}))
    assert counts(evidence_of(workspace).rows()) == {"steady": (1, 0)}


def test_a_tasks_own_solutions_can_be_left_out(workspace: Workspace, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    a_ladder_folder(shelf, "blur")
    library = Library(user=shelf, shipped=None)
    recall = LibraryRecall(library, Evidence(library, runs=workspace.runs))
    own = a_task(name=library.get("blur").task)
    assert [e.technique for e in recall.evidence(family="stencil")] == ["separable-window"]
    assert recall.evidence(family="stencil", without=own) == []
    assert recall.evidence(family="stencil", without=a_task(name="another")) == recall.evidence(family="stencil")
