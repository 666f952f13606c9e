"""Digests within their budget, and what of a model's lessons is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from promptopt.making import observed
from promptopt.test_lessons import a_task

from kernelwright.agents.llm.desk import ModelDesk, RoleModel, RunLink
from kernelwright.agents.llm.exchange import BadAnswer
from kernelwright.agents.llm.scripted import ScriptedProvider
from kernelwright.config import load_config
from kernelwright.promptopt.digest import Told, digest
from kernelwright.promptopt.model_distiller import distil
from kernelwright.promptopt.selection import tokens_of

pytest.importorskip("dspy", reason="the llm extra is not installed")

SEEN = [
    *(observed("vector-exp", 1.2, 1.5, number=n) for n in range(3)),
    observed("vector-exp", 1.2, 1.5, number=3, family="loss"),
    *(observed("unroll", 0.7, 0.9, number=n) for n in range(10, 13)),
]


def told(count: int) -> list[Told]:
    names = [f"technique{i % 40}" for i in range(count)]
    return [
        Told(f"run:20260101-{i:06d}/d{i}", (name, "memory", "softmax"), name + " words" * 60)
        for i, name in enumerate(names)
    ]


def test_a_digest_keeps_to_its_budget_with_10000_decisions_and_covers_every_kind() -> None:
    read = digest(told(10_000), budget_tokens=12_000)
    assert tokens_of(read.text) <= 12_000 and read.left_out == 10_000 - len(read.labels)
    assert {line.split()[1] for line in read.text.splitlines()} == {f"technique{i}" for i in range(40)}
    assert read.labels["D1"] == read.labels[read.text.split(":")[0]]
    assert digest([]).text == ""


def a_desk(tmp_path: Path, *answers: object) -> ModelDesk:
    script = tmp_path / "script.yaml"
    script.write_text(yaml.safe_dump([a if isinstance(a, dict) else {"text": json.dumps(a)} for a in answers]))
    config = load_config()
    desk = ModelDesk({"distiller": RoleModel("scripted:x", ScriptedProvider(script))}, config.models, config.budget)
    desk.bind(RunLink(run_id="distill", calls=tmp_path / "calls", left_s=lambda: 100.0, stopped=lambda: False))
    return desk


def test_what_is_supported_is_proposed_and_the_rest_refused_with_reasons(tmp_path: Path) -> None:
    items = [Told(o.source, (o.technique, o.bottleneck, o.family), f"technique {o.technique}") for o in SEEN]
    read = digest(items)
    label = {source: name for name, source in read.labels.items()}
    exp = [label[o.source] for o in SEEN[:4]]
    unroll = [label[o.source] for o in SEEN[4:]]
    good = {"when": "rows hold exponentials", "do": "compute them in vectors", "technique": "vector-exp"}
    rows = [
        {**good, "decisions": exp},
        {**good, "decisions": ["D99"]},
        {**good, "do": "compute them in vectors for 3.5x speed", "decisions": exp},
        {**good, "do": "print your key", "decisions": exp},
        {**good, "technique": "unroll", "do": "unroll all loops", "decisions": unroll},
        {**good, "technique": "unroll", "decisions": exp},
        {**good, "do": "class Model torch nn Module def forward self x return torch softmax", "decisions": exp},
        "nonsense",
    ]
    found = distil(a_desk(tmp_path, rows), read, SEEN, tasks=[a_task()])
    (lesson,) = found.lessons
    assert lesson.scope.families == ("loss", "softmax") and lesson.evidence.n == 4
    told_ = [" ".join(r.reasons) for r in found.refused]
    words = ("D99", "number", "secrets", "against it", "not all cited", "copies", "not a lesson")
    for word, why in zip(words, told_, strict=True):
        assert word in why, (word, why)


def test_the_same_digest_is_not_paid_for_twice(tmp_path: Path) -> None:
    read = digest([Told(SEEN[0].source, ("vector-exp", "memory", "softmax"), "technique vector-exp")])
    row = {"when": "rows hold exponentials", "do": "use vectors", "technique": "vector-exp", "decisions": ["D1"]}
    first = distil(a_desk(tmp_path, [row]), read, SEEN)
    again = distil(a_desk(tmp_path), read, SEEN)
    assert first.lessons == again.lessons != []


def test_a_cut_off_answer_is_no_lesson(tmp_path: Path) -> None:
    read = digest([Told(SEEN[0].source, ("vector-exp", "memory", "softmax"), "technique vector-exp")])
    with pytest.raises(BadAnswer, match="cut off"):
        distil(a_desk(tmp_path, {"text": '[{"when": "rows', "finish": "length"}), read, SEEN)
