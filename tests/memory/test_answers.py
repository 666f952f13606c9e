"""The three kinds of answer, what is recorded of a recall, and what runs made of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.records import a_candidate, a_decision, a_ratio, a_task, an_evaluation, some_facts
from fakes.solutions import a_ladder_folder, a_recipe_folder

from kernelwright.memory.answers import Answers, Asked, answer
from kernelwright.memory.evidence import Evidence
from kernelwright.memory.index import Index
from kernelwright.memory.knowledge_pages import load_techniques
from kernelwright.memory.library import Library
from kernelwright.memory.recall import LibraryRecall
from kernelwright.memory.recall_log import credits, misses, note_recall
from kernelwright.records import RunSummary
from kernelwright.workspace import RunFolder, Workspace, append_line

TASK = a_task("box_blur_3x3", torch_ops=("avg_pool2d", "box filter"))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace.open(tmp_path / "ws")
    a_ladder_folder(made.library, "box-blur")
    a_recipe_folder(made.library, "stencil-tiles")
    return made


def asked(workspace: Workspace, task=TASK, *, index: bool = True, **options) -> Answers:
    library = Library(user=workspace.library, shipped=None)
    evidence = Evidence(library, runs=workspace.runs)
    recall = LibraryRecall(library, evidence, index=Index(workspace.index) if index else None)
    return answer(recall, evidence, load_techniques()[0], task, some_facts(task), Asked(**options))


def a_run(workspace: Workspace, technique: str, gain: float | None, *, source: str = "") -> RunFolder:
    """A run in which one decision was judged in full; it is the run's best when it passed."""
    folder = workspace.new_run("blur")
    folder.save(TASK, folder.task_file)
    parent, child = a_candidate("parent"), a_candidate(f"{technique} {gain}")
    folder.add_candidate(child)
    fields = {"parent": parent.id, "child": child.id, "source": source, "bottleneck": "compute"}
    if gain is not None:
        folder.add_evaluation(an_evaluation(child, speedup=gain))
        folder.add_decision(a_decision(technique, **fields, measured=a_ratio(gain, parent.id), verdict="confirmed"))
    else:
        folder.add_decision(a_decision(technique, **fields, verdict="failed"))
    best = {"best_candidate": child.id, "best": a_ratio(gain, "compile")} if gain is not None else {}
    summary = RunSummary(run_id=folder.run_id, task_name=TASK.name, task_id=TASK.id, engine="search",
                         started_at="2026-01-01", command="x", **best)  # fmt: skip
    folder.save(summary, folder.summary_file)
    append_line(folder.recalls_file, json.dumps({"at": "2026-01-01", "found": [{"id": "box-blur", "reasons": []}]}))
    return folder


def test_decisions_come_with_their_distribution(workspace: Workspace) -> None:
    for gain in (1.2, 1.5, 1.9):
        a_run(workspace, "separable-window", gain)
    (told,) = [
        d for d in asked(workspace, bottleneck="compute").decisions if d.evidence.technique == "separable-window"
    ]
    assert (told.evidence.n, told.evidence.failures) == (4, 0)  # three runs, and the ladder's own rung at 2.0
    assert told.evidence.median_gain == pytest.approx(1.7)
    assert told.evidence.low is not None and 1.2 <= told.evidence.low <= 1.7
    assert told.families[0] == TASK.family and told.precedents == ("box-blur#two-passes",)
    assert asked(workspace, bottleneck="latency").decisions == ()


def test_techniques_are_pages_that_fit(workspace: Workspace) -> None:
    found = asked(workspace, bottleneck="compute").techniques
    assert found and found[0].technique.id == "separable-window"
    assert "taken by box-blur" in found[0].why


def test_ranks_of_all_channels_are_told(workspace: Workspace) -> None:
    first = asked(workspace).solutions[0]
    assert first.solution.id == "box-blur" and any(
        r.startswith("ranks: structure #1, description #") for r in first.reasons
    )
    assert not any(r.startswith("ranks:") for r in asked(workspace, index=False).solutions[0].reasons)


def test_the_same_task_can_be_left_out_and_is_told(workspace: Workspace) -> None:
    assert asked(workspace).same_task
    without = asked(workspace, exclude_same_task=True)
    assert [r.solution.id for r in without.solutions] == ["stencil-tiles"] and not without.same_task


def test_what_the_same_task_bought_is_left_out_with_it(workspace: Workspace) -> None:
    """Its ladder's gains would tell which techniques win here; what other tasks and runs bought stays."""
    bought = {d.evidence.technique: d.evidence.n for d in asked(workspace).decisions}
    assert bought == {"separable-window": 1}, "the ladder's own step"
    a_ladder_folder(workspace.library, "other-blur", task="other_blur")
    assert {d.evidence.n for d in asked(workspace).decisions} == {2}
    assert {d.evidence.n for d in asked(workspace, exclude_same_task=True).decisions} == {1}


def test_conditions_are_filters_of_solutions_decisions_and_pages(workspace: Workspace) -> None:
    def ids(**conditions: Any) -> set[str]:
        return {r.solution.id for r in asked(workspace, **conditions).solutions}

    assert ids() == {"box-blur", "stencil-tiles"} == ids(device="cpu") == ids(families=["stencil"])
    assert ids(families=["softmax"]) == set() == ids(device="cuda")
    assert ids(dtype="float16") == {"stencil-tiles"}, "the other one holds for float32"
    assert ids(languages=["halide"], dtype="float16") == {"stencil-tiles"}
    assert asked(workspace, device="cpu").decisions and not asked(workspace, device="cuda").decisions
    for device in ("cpu", "cuda"):
        pages = asked(workspace, device=device, limit=50).techniques
        assert pages and all(device in p.technique.applies_to.devices for p in pages)
    line = asked(workspace, families=["stencil"], device="cpu", dtype="float32").to_line()
    assert (line["families"], line["device"], line["dtype"]) == (["stencil"], "cpu", "float32")


def test_an_index_that_breaks_costs_a_channel_not_the_recall(workspace: Workspace, monkeypatch) -> None:
    from kernelwright.errors import LibraryError

    def broken(*args, **options):
        raise LibraryError("no index today")

    monkeypatch.setattr(Index, "search", broken)
    assert asked(workspace).solutions[0].solution.id == "box-blur"


def test_recalls_that_found_nothing_are_listed(workspace: Workspace) -> None:
    reference = (
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.fft.fft(x)\n"
    )
    odd = a_task(
        "fourier", family="transform", reference=reference, torch_ops=("fft",), description="Fourier transform."
    )
    for task in (TASK, odd):
        told = asked(workspace, task, languages=["cpp"])
        assert told.found_nothing is (task is odd)
        note_recall(workspace.recalls_file, told.to_line())
    (miss,) = misses(workspace.runs, workspace.recalls_file)
    assert (miss.task, miss.where, miss.languages) == ("fourier", "by hand", ("cpp",))


def test_runs_credit_what_they_recalled_and_used(workspace: Workspace) -> None:
    a_run(workspace, "separable-window", 1.5, source="solution:box-blur#1")
    a_run(workspace, "separable-window", 1.8, source="solution:box-blur#1")
    a_run(workspace, "tile", None, source="solution:box-blur#0")
    a_run(workspace, "unroll", 1.1, source="search")
    credit = credits(workspace.runs)["box-blur"]
    assert (credit.recalled, credit.used, credit.passed, credit.failed, credit.won) == (4, 3, 2, 1, 2)
    assert credit.best == 1.8


def test_a_run_is_given_the_pages_that_fit(workspace: Workspace) -> None:
    recall = LibraryRecall(Library(user=workspace.library, shipped=None))
    found = recall.recall(TASK, some_facts(TASK), languages=["cpp"])
    pages = recall.techniques(TASK, found, languages=["cpp"], bottleneck="memory", limit=4)
    assert len(pages) == 4 and all(page.what and page.when for page in pages)
    assert all(not p.applies_to.languages or "cpp" in p.applies_to.languages for p in pages)
    assert "separable-window" in [page.id for page in recall.techniques(TASK, found, languages=["cpp"], limit=4)]
