"""The library's answers as text: what a reader is told of a ladder's numbers, and of what is stale."""

from pathlib import Path

import pytest
from fakes.solutions import a_ladder_folder

from kernelwright.cli.library_text import solution_text, stale_text, verification_text
from kernelwright.memory.recall_log import Credit
from kernelwright.memory.solution_files import load_solution
from kernelwright.memory.survey import stale
from kernelwright.memory.verifications import Verification
from kernelwright.records import Environment, Solution

STATED = "{value: 2.0, low: 1.95, high: 2.05, pairs: 40, "


def a_ladder(shelf: Path, gain: str = STATED, *, id: str = "box-blur") -> Solution:
    return load_solution(a_ladder_folder(shelf, id=id, edit={STATED: gain}))


@pytest.mark.parametrize(
    ("gain", "told"),
    [
        (STATED, ["measured in one session"]),
        (f"{STATED}sessions: 4, ", ["measured in 4 sessions: an interval says where one more session finds"]),
        (
            "{value: 1.02, low: 0.95, high: 1.09, pairs: 40, sessions: 4, ",
            ["measured in 4 sessions", "no difference shown over the rung before: two-passes"],
        ),
    ],
    ids=["one session", "several", "no difference"],
)
def test_a_ladder_says_how_its_intervals_are_read(tmp_path: Path, gain: str, told: list[str]) -> None:
    text = solution_text(a_ladder(tmp_path, gain), tmp_path, Credit(), None, columns=120)
    assert all(line in text for line in told), text
    assert ("no difference shown" in text) == (len(told) > 1)


def test_what_is_stale_is_told_by_reason(tmp_path: Path) -> None:
    entries = [a_ladder(tmp_path, id=id) for id in ("a-blur", "b-blur", "c-blur")]
    text = stale_text(stale(entries, Environment(cpu="Another CPU", isa="avx512")), of=5, columns=120)
    assert text.splitlines()[0] == "cpu was Example CPU, here Another CPU (3 entries)"
    assert "a-blur, b-blur, c-blur" in text and "3 of 5 entries" in text
    assert stale_text([], of=5) == "none of 5 entries is stale"


def test_nothing_is_called_reproduced_where_nothing_was_compared() -> None:
    fields = {"origin": "user", "candidate": "c", "task": "t", "at": "2026-01-31T12:00:00", "depth": "full"}
    rungs = {"one": "measured 2.00x [1.90, 2.10]; measured on Another CPU, 1 threads, this is Example CPU, 1 threads"}
    told = Verification(id="a", environment=Environment(cpu="Example CPU"), reproduced=True, rungs=rungs, **fields)
    assert verification_text(told).startswith("a on t: right, with nothing to compare (full")
    again = told.model_copy(update={"rungs": {**rungs, "two": "reproduced 2.00x [1.90, 2.10]"}})
    assert verification_text(again).startswith("a on t: reproduced (full")
    assert "NOT reproduced" in verification_text(again.model_copy(update={"reproduced": False}))
