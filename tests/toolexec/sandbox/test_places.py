"""What a confined process may read: enough to run, and nothing that holds answers."""

import os
import sys
from pathlib import Path

import pytest

from kernelwright.toolexec.sandbox import places


def test_no_home_no_workspace_no_knowledge_is_readable() -> None:
    listed = places.readable()
    homes = [str(Path.home()), str(Path.home() / ".ssh"), "/root", "/home"]
    for path in (*homes, "/etc/shadow", "/etc/passwd", "/tmp", "/var"):
        assert not any(places.inside(path, folder) for folder in listed), path


def test_the_interpreter_and_the_package_are_readable() -> None:
    listed = places.readable()
    for path in (sys.executable, os.path.realpath(sys.executable), os.__file__, places.__file__):
        assert any(places.inside(os.path.abspath(path), folder) for folder in listed), path


def test_given_places_are_added_with_their_links_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to("real")
    listed = places.readable([tmp_path / "way", tmp_path / "missing"])
    assert str(tmp_path / "way") in listed and str(tmp_path / "real") in listed
    assert str(tmp_path / "missing") not in listed


def test_outermost() -> None:
    assert places.outermost(["/a/b", "/a", "/ab", "/a.b/c", "/c/d/e", "/c/d"]) == ["/a", "/a.b/c", "/ab", "/c/d"]


def test_taking_folders_apart(tmp_path: Path) -> None:
    for folder in ("site/package/code", "site/package/knowledge", "site/other"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "site" / "file.py").touch()
    parts, apart = places.without(str(tmp_path / "site"), [str(tmp_path / "site/package/knowledge")])
    assert {os.path.relpath(p, tmp_path) for p in parts} == {"site/package/code", "site/other", "site/file.py"}
    assert {os.path.relpath(p, tmp_path) for p in apart} == {"site", "site/package"}
    assert places.without("/usr", ["/elsewhere"]) == (["/usr"], [])


def test_knowledge_inside_the_installed_package_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernelwright" / "knowledge").mkdir(parents=True)
    monkeypatch.setattr(places, "package", lambda: frozenset([str(tmp_path / "kernelwright")]))
    places.hidden.cache_clear()
    try:
        assert places.hidden() == {str(tmp_path / "kernelwright" / "knowledge")}
    finally:
        places.hidden.cache_clear()
