"""A private cache is carried over file by file; what a stranger laid out is not believed."""

import os
from pathlib import Path

from kernelwright.toolexec.judge import kept_cache
from kernelwright.toolexec.judge.kept_cache import copy_in, copy_out


def test_what_is_new_is_kept_and_comes_back(tmp_path: Path) -> None:
    private, kept = tmp_path / "private", tmp_path / "kept"
    (private / "ab").mkdir(parents=True)
    (private / "ab" / "kernel.so").write_bytes(b"code")
    (private / "ab" / "x.lock").touch()
    copy_out(private, kept)
    (private / "ab" / "kernel.so").write_bytes(b"changed")
    copy_out(private, kept)
    copy_in(kept, tmp_path / "next")
    assert (tmp_path / "next" / "ab" / "kernel.so").read_bytes() == b"code", "what is kept is not overwritten"
    assert os.access(tmp_path / "next" / "ab" / "kernel.so", os.X_OK)
    assert sorted(p.name for p in (tmp_path / "next").rglob("*")) == ["ab", "kernel.so"]


def test_links_are_left_alone(tmp_path: Path) -> None:
    private, kept = tmp_path / "private", tmp_path / "kept"
    private.mkdir()
    (tmp_path / "secret").write_text("secret")
    (private / "file").symlink_to(tmp_path / "secret")
    (private / "folder").symlink_to(tmp_path)
    os.mkfifo(private / "pipe")
    copy_out(private, kept)
    assert not kept.exists() or not list(kept.rglob("*"))


def test_it_is_bounded(tmp_path: Path, monkeypatch) -> None:
    private, kept = tmp_path / "private", tmp_path / "kept"
    private.mkdir()
    for i in range(5):
        (private / f"{i}").write_bytes(bytes(100))
    monkeypatch.setattr(kept_cache, "MOST_BYTES", 350)
    copy_out(private, kept)
    assert len(list(kept.iterdir())) == 3


def test_nothing_kept_is_an_empty_cache(tmp_path: Path) -> None:
    copy_in(tmp_path / "missing", tmp_path / "private")
    assert list((tmp_path / "private").iterdir()) == []
