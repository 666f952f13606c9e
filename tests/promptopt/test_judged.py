"""From the command line with the one judge: an optimization that is killed, goes on, and ends in a promotion."""

from __future__ import annotations

from pathlib import Path

import pytest
from promptopt.judged_proof import prove

from kernelwright.promptopt.shelves import LessonShelf
from kernelwright.promptopt.versions import PromptStore
from kernelwright.workspace import Workspace


@pytest.mark.slow
def test_prompts_are_optimized_with_the_one_judge(tmp_path: Path) -> None:
    proof = prove(tmp_path, trials=32, screen=False, pairs=3)
    assert "1 of 32  validation" in proof.killed and "measurements" in proof.killed
    assert proof.resumed.code == 0, proof.resumed.err
    assert "going on: " in proof.resumed.err and "trials of earlier sessions are kept" in proof.resumed.err
    assert proof.asked_twice <= 1, "what was paid for before the kill is not paid for again"
    found = proof.found("resumed")
    gamed, honest = found["proposals"]  # type: ignore[misc]
    assert not gamed["accepted"] and "games the judge" in gamed["rejected_because"]
    assert honest["accepted"] and found["promoted"] and found["spent"]["trials"] == 24  # type: ignore[index]
    place = Workspace.open(tmp_path / "workspace")
    store = PromptStore(place.prompts, "coder")
    assert store.current is not None and store.current.id == found["promoted"]
    assert [s.split for s in store.lineage.scores(store.current.id)][:3] == ["validation", "held_out", "remeasured"]
    assert "rejected: games the judge" in proof.log.out and "<- in use" in proof.log.out
    assert proof.compared.code == 0 and proof.found("compared")["score"]["gain"] > 0  # type: ignore[index]
    ablated = proof.found("ablated")["score"]
    assert proof.ablated.code == 0 and ablated["high"] < 0, "cheating kernels are refused"  # type: ignore[index]
    assert proof.again.out == proof.ablated.out
    effect = LessonShelf(place.lessons).get("static-buffers").effect
    assert effect is not None and effect.method == "ablation" and effect.high < 0
