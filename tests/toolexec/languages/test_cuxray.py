"""A second source on a cubin: its answer in the form that it has, nonsense, and its absence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelwright.toolexec.languages import cuxray
from kernelwright.toolexec.languages.cuxray import read, suggestions

ACTION = {
    "severity": "high",
    "title": "eliminate register spills",
    "detail": "154 spill stores / 155 loads\nto local memory (hottest at spill.cu:14)",
    "confidence": "high",
    "evidence": ["spill byte accounting"],
    "impact": 1244.0,
}
ANSWER = {
    "schema": "cuxray.advise/1",
    "results": [
        {"unit": "k.cubin", "kernel": "first", "actions": [{**ACTION, "title": "minor", "impact": 1}, ACTION]},
        {"unit": "k.cubin", "kernel": "second", "actions": [{**ACTION, "title": "middling", "impact": 50.5}]},
    ],
}


def test_the_weightiest_comes_first_each_in_a_line() -> None:
    told = read(f"a line before\n{json.dumps(ANSWER, indent=2)}\nand one behind\n")
    assert [line.partition(" (")[0] for line in told] == [
        "first: eliminate register spills", "second: middling", "first: minor",
    ]  # fmt: skip
    assert "(high confidence); 154 spill stores / 155 loads to local memory" in told[0]
    many = {"results": [{"kernel": "k", "actions": [ACTION] * 9}]}
    assert len(read(json.dumps(many))) == cuxray.MOST


@pytest.mark.parametrize("output", ["", "{", "{}", "[1]", '{"results": 3}', '{"results": [null, {"actions": [7]}]}'])
def test_what_is_no_answer_says_nothing(output: str) -> None:
    assert read(output) == []


def test_where_it_is_not_installed_nothing_is_asked(tmp_path: Path) -> None:
    if cuxray.available():
        pytest.skip("it is installed here, so that it is asked")
    assert suggestions(tmp_path / "no.cubin", threads=None, folder=tmp_path) == []
    assert not list(tmp_path.iterdir())
