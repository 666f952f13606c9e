"""ttsem beside Triton's interpreter: what it is asked, and how its answers are told."""

from __future__ import annotations

import importlib.util
from importlib.metadata import version
from pathlib import Path

import pytest

from kernelwright.toolexec.emulator import second_source

from .test_triton import KERNEL

RACE = KERNEL.replace("tl.store(y + row * cols + i,", "tl.store(y + i,")
"""All rows into the first one."""


def lacking() -> str:
    """What ttsem 0.1 needs and is not here; "" when it can be asked."""
    if importlib.util.find_spec("ttsem") is None:
        return "ttsem is not installed: pip install --no-deps --ignore-requires-python ttsem"
    here = tuple(int(n) for n in version("triton").split(".")[:2])
    return "" if here >= (3, 8) else "ttsem 0.1 reads the intermediate code of Triton 3.8: pip install triton==3.8.*"


needs_ttsem = pytest.mark.skipif(bool(lacking()), reason=lacking())


def ask(folder: Path, text: str) -> str:
    place = folder / "candidate"
    place.mkdir()
    (place / "kernel.py").write_text(text, encoding="utf-8")
    found = second_source.asked(
        place / "kernel.py", inputs=[("float32", (33, 97))], init_args=[1.5], call=None, timeout_s=120.0
    )
    assert list(folder.iterdir()) == [place]
    return found


@needs_ttsem
@pytest.mark.slow
def test_a_race_between_programs_is_told_with_its_line(tmp_path: Path) -> None:
    line = next(i for i, row in enumerate(RACE.splitlines(), 1) if "tl.store(y + i," in row)
    said = ask(tmp_path, RACE)
    assert said.startswith("ttsem") and "race: " in said and f"kernel.py:{line}" in said


@needs_ttsem
@pytest.mark.slow
def test_a_right_kernel_has_no_fault(tmp_path: Path) -> None:
    assert "no fault in 1 launches" in ask(tmp_path, KERNEL)


def test_without_it_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_source, "available", lambda: "")
    assert ask(tmp_path, KERNEL) == ""


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (
            'kernelwright-ttsem: {"verdict": "ok", "launches": 2, "message": "", "unchecked": 1}',
            "no fault in 2 launches",
        ),
        ('x\nkernelwright-ttsem: {"verdict": "race", "launches": 1, "message": "a  b", "unchecked": 0}', "race: a b"),
        ('kernelwright-ttsem: {"verdict": "unsupported", "launches": 0, "message": "f8", "unchecked": 0}', "could not"),
        ("error: the compiler needed more than 60 s and was stopped", "no answer within 60 s"),
        ("Segmentation fault", "gave no answer"),
        ('kernelwright-ttsem: {"verdict": []}', "gave no answer"),
    ],
)
def test_an_answer_is_a_strangers_word(output: str, told: str) -> None:
    assert second_source._said(output, 60.0).startswith(told)
