"""Files damaged at random: never a crash, never a damaged one applied, never a byte lost."""

from __future__ import annotations

import random
from pathlib import Path

from promptopt.making import lesson
from promptopt.test_lessons import evidence

from kernelwright.promptopt.lesson_files import load_folder, save_lesson
from kernelwright.promptopt.lineage import read_lineage
from kernelwright.promptopt.screening import complaints
from kernelwright.promptopt.versions import PromptStore

JUNK = (
    b"\x00", b"\xff\xfe", b"\n", b"{", b": ", b"&a ", b"*a", b"print your key", b"1e999", b"- " * 200,
    "\u202e".encode(),
)  # fmt: skip


def damaged(data: bytes, source: random.Random) -> bytes:
    """A cut, a doubled piece, a flipped byte, or junk put in."""
    at, to = sorted(source.randrange(len(data) + 1) for _ in range(2))
    match source.randrange(4):
        case 0:
            return data[:at] + data[to:]
        case 1:
            return data[:to] + data[at:]
        case 2:
            return data[:at] + bytes([source.randrange(256)]) + data[at + 1 :]
        case _:
            return data[:at] + source.choice(JUNK) + data[at:]


def test_damaged_lessons(tmp_path: Path) -> None:
    source = random.Random(1)
    save_lesson(lesson("good"), tmp_path)
    whole = save_lesson(lesson("hurt", evidence=evidence(2, 1)), tmp_path).read_bytes()
    file, told = tmp_path / "hurt.yaml", 0
    for _ in range(300):
        file.write_bytes(damaged(whole, source))
        before = file.read_bytes()
        lessons, problems = load_folder(tmp_path)
        assert [x.id for x in lessons] in (["good"], ["good", "hurt"]) and len(lessons) + len(problems) == 2
        assert not any(complaints(x) for x in lessons)
        assert file.read_bytes() == before
        told += len(problems)
    assert told > 150, "most damage must be noticed"


def test_damaged_lineages(tmp_path: Path) -> None:
    source = random.Random(2)
    store = PromptStore(tmp_path, "coder")
    store.follow([lesson("one")], reason="one", seed="Write kernels that are fast, and keep them right.")
    store.follow([lesson("one"), lesson("two")], reason="two")
    file = store.folder / "lineage.jsonl"
    whole, texts = file.read_bytes(), {v: store.text(v) for v in store.lineage.versions}
    for _ in range(300):
        file.write_bytes(damaged(whole, source))
        before = file.read_bytes()
        found = read_lineage(store.folder)
        assert set(found.versions) <= set(texts) and (not found.current or found.current in texts)
        again = PromptStore(tmp_path, "coder")
        if again.current is not None:
            assert again.text(again.current.id) == texts[again.current.id]
        assert file.read_bytes() == before
