"""What was measured between any two versions: compared with each other, along the tree, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.cli.prompts_text import change_text
from kernelwright.promptopt.ablation import Ablated, keep_comparison
from kernelwright.promptopt.journal import Spent
from kernelwright.promptopt.lineage import Lineage
from kernelwright.promptopt.score_changes import FamilyChange, score_change
from kernelwright.promptopt.versions import PromptStore
from kernelwright.records import PromptScore


def a_score(split: str, gain: float, **families: float) -> PromptScore:
    fields = {"low": gain - 0.1, "high": gain + 0.1, "pairs": 8, "families": families}
    return PromptScore.model_validate({"split": split, "gain": gain, **fields})


@pytest.fixture
def tree(tmp_path: Path) -> tuple[PromptStore, dict[str, str]]:
    """root -> a -> b, and root -> c: a measured on two parts, b on one family, c on another, d (of b) never."""
    store = PromptStore(tmp_path, "coder")
    ids = {"": ""}
    made = {
        "root": ("", ()),
        "a": ("root", (a_score("validation", 0.2, softmax=0.3, norm=0.1), a_score("held_out", 0.1, norm=0.05))),
        "b": ("a", (a_score("validation", 0.1, softmax=0.1),)),
        "c": ("root", (a_score("validation", -0.2, softmax=-0.2, scan=-0.1),)),
        "d": ("b", ()),
    }
    for name, (parent, scores) in made.items():
        text = f"Write fast kernels, and mind {name} above all else."
        more = {"state": "accepted", "scores": scores}
        ids[name] = store.add(text, [], parent=ids[parent], origin="user", reason=name, more=more).id
    return store, ids


def told(lineage: Lineage, old: str, new: str) -> dict[str, tuple[float, int]]:
    return {name: (c.gain, c.steps) for name, c in score_change(lineage, old, new).families.items()}


def test_a_step_is_told_by_its_latest_word_on_each_family(tree: tuple[PromptStore, dict[str, str]]) -> None:
    store, ids = tree
    assert told(store.lineage, ids["root"], ids["a"]) == {"norm": (0.05, 1), "softmax": (0.3, 1)}
    assert told(store.lineage, ids["a"], ids["root"]) == {"norm": (-0.05, 1), "softmax": (-0.3, 1)}


def test_gains_add_up_along_a_line_and_over_a_fork(tree: tuple[PromptStore, dict[str, str]]) -> None:
    store, ids = tree
    assert told(store.lineage, ids["root"], ids["b"]) == {"norm": (0.05, 1), "softmax": (0.4, 2)}
    over = score_change(store.lineage, ids["b"], ids["c"])
    assert over.families == {
        "norm": FamilyChange(-0.05, 1), "scan": FamilyChange(-0.1, 1), "softmax": FamilyChange(-0.6, 3)
    }  # fmt: skip
    assert [(s.version, s.backwards) for s in over.steps] == [
        (ids["b"], True), (ids["a"], True), (ids["a"], True), (ids["c"], False),
    ]  # fmt: skip
    text = change_text(over)
    assert "softmax -0.600" in text and "scan -0.100 (1 of 3 steps)" in text and "other sign" in text


def test_a_step_that_nobody_measured_is_named(tree: tuple[PromptStore, dict[str, str]]) -> None:
    store, ids = tree
    change = score_change(store.lineage, ids["a"], ids["d"])
    assert change.unmeasured == (ids["d"],) and change.of == 2
    assert f"never compared with its parent: {ids['d']}" in change_text(change)
    nothing = score_change(store.lineage, ids["b"], ids["d"])
    assert not nothing.families and change_text(nothing) == "no score between the two was measured"


def test_two_versions_that_were_compared_need_no_way(tree: tuple[PromptStore, dict[str, str]]) -> None:
    store, ids = tree
    keep_comparison(store, ids["b"], ids["c"], Ablated(a_score("ablation", -0.5, softmax=-0.45), Spent()))
    again = PromptStore(store.folder.parent, "coder").lineage
    assert told(again, ids["b"], ids["c"]) == {"softmax": (-0.45, 1)}
    assert told(again, ids["c"], ids["b"]) == {"softmax": (0.45, 1)}
    assert f"against {ids['b']}" in change_text(score_change(again, ids["b"], ids["c"]))
    assert told(again, ids["root"], ids["c"]) == {"scan": (-0.1, 1), "softmax": (-0.2, 1)}, "no word on its parent"
