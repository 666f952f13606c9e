"""Export and import: what goes out comes back, and hostile archives are refused whole."""

import hashlib
import json
import os
import stat
import zipfile
from pathlib import Path

import pytest
from fakes.solutions import a_ladder_folder

from kernelwright.errors import LibraryError
from kernelwright.memory import archive as archive_module
from kernelwright.memory.archive import FORMAT, MANIFEST, export, import_archive
from kernelwright.memory.library import Library
from kernelwright.records import ReviewState


def a_library(root: Path) -> Library:
    return Library(user=root, shipped=None)


@pytest.fixture
def good(tmp_path: Path) -> dict[str, bytes]:
    """Name -> content of a valid entry."""
    folder = a_ladder_folder(tmp_path / "source", "box-blur")
    return {f"solutions/box-blur/{p.name}": p.read_bytes() for p in folder.iterdir()}


def packed(path: Path, files: dict[str, bytes], *, manifest: object = None, extra=()) -> Path:
    told = {n: {"sha256": hashlib.sha256(c).hexdigest(), "bytes": len(c)} for n, c in files.items()}
    data = {"format": FORMAT, "entries": [], "files": told} if manifest is None else manifest
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, data if isinstance(data, str) else json.dumps(data))
        for name, content in files.items():
            archive.writestr(name, content)
        for info, content in extra:
            archive.writestr(info, content)
    return path


def refused(tmp_path: Path, file: Path) -> str:
    """Import must refuse, and leave nothing anywhere."""
    shelf = tmp_path / "shelf"
    a_ladder_folder(shelf, "mine", family="norm")
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    with pytest.raises(LibraryError) as caught:
        import_archive(a_library(shelf), file)
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before
    return str(caught.value)


def test_what_goes_out_comes_back_as_a_proposal(tmp_path: Path) -> None:
    a_ladder_folder(tmp_path / "a", "box-blur")
    a_ladder_folder(tmp_path / "a", "other", family="norm")
    file = tmp_path / "out.zip"
    assert export(a_library(tmp_path / "a"), (), file) == ["box-blur", "other"]
    library = a_library(tmp_path / "b")
    assert import_archive(library, file).added == ("box-blur", "other")
    back = library.get("box-blur")
    assert back.review.state is ReviewState.PROPOSED and "promoted by B. Reviewer" in back.review.reason
    assert back.rungs == a_library(tmp_path / "a").get("box-blur").rungs


def test_reviews_can_be_kept_and_the_same_again_changes_nothing(tmp_path: Path) -> None:
    a_ladder_folder(tmp_path / "a", "box-blur")
    file = tmp_path / "out.zip"
    export(a_library(tmp_path / "a"), ["box-blur"], file)
    library = a_library(tmp_path / "b")
    import_archive(library, file, keep_review=True)
    assert library.get("box-blur").review.state is ReviewState.PROMOTED
    assert import_archive(library, file).unchanged == ("box-blur",)


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    a_ladder_folder(tmp_path / "a", "box-blur")
    for name in ("one.zip", "two.zip"):
        export(a_library(tmp_path / "a"), (), tmp_path / name)
        os.utime(tmp_path / "a" / "box-blur" / "naive.cpp", (1, 1))
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_a_taken_id_refuses_the_whole(tmp_path: Path, good: dict[str, bytes]) -> None:
    a_ladder_folder(tmp_path / "shelf", "box-blur", family="norm")
    assert "box-blur" in refused(tmp_path, packed(tmp_path / "x.zip", good))


def test_a_taken_id_comes_in_under_another_where_that_is_asked_for(tmp_path: Path, good: dict[str, bytes]) -> None:
    """What hides nothing: the entry that has the id here stands as it is, also a shipped one."""
    a_ladder_folder(tmp_path / "shipped", "box-blur", family="norm")
    a_ladder_folder(tmp_path / "user", "box-blur-2", family="norm")
    library = Library(user=tmp_path / "user", shipped=tmp_path / "shipped")
    file = packed(tmp_path / "x.zip", good)
    done = import_archive(library, file, rename=True)
    assert (done.added, done.renamed) == (("box-blur-3",), {"box-blur": "box-blur-3"})
    assert (library.get("box-blur").origin, library.get("box-blur").family) == ("shipped", "norm")
    came = library.get("box-blur-3")
    assert came.family == "stencil" and came.review.state is ReviewState.PROPOSED
    with pytest.raises(LibraryError, match="box-blur"):
        import_archive(library, file)


@pytest.mark.parametrize(
    "name",
    ["../../evil.py", "/etc/evil", "solutions/../../evil", "solutions/box-blur/../../../x", "C:/evil",
     "solutions/a\\b/c", "solutions/.git/config", "elsewhere/box-blur/x", "solutions/box-blur",
     "solutions/box-blur/a/b/c/d/e/f/g/h",
     "solutions/box-blur/\x1b[31m", "solutions/box-blur/" + "n" * 200],
)  # fmt: skip
def test_paths_outside_are_refused(tmp_path: Path, good: dict[str, bytes], name: str) -> None:
    assert "refused whole" in refused(tmp_path, packed(tmp_path / "x.zip", {**good, name: b"x"}))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_special_files_are_refused(tmp_path: Path, good: dict[str, bytes], kind: int) -> None:
    info = zipfile.ZipInfo("solutions/box-blur/link.cpp")
    info.external_attr = (kind | 0o777) << 16
    assert "link or special" in refused(tmp_path, packed(tmp_path / "x.zip", good, extra=[(info, "/etc/passwd")]))


def test_bombs_and_huge_files_are_refused(tmp_path: Path, good: dict[str, bytes], monkeypatch) -> None:
    bomb = {**good, "solutions/box-blur/big.cpp": b"0" * 50_000_000}
    assert "bytes" in refused(tmp_path, packed(tmp_path / "x.zip", bomb))
    monkeypatch.setattr(archive_module, "MAX_TOTAL_BYTES", 100)
    assert "unpacked" in refused(tmp_path, packed(tmp_path / "y.zip", good))
    monkeypatch.setattr(archive_module, "MAX_MEMBERS", 2)
    assert "files" in refused(tmp_path, packed(tmp_path / "z.zip", good))


def test_a_header_that_lies_about_the_size_is_caught(tmp_path: Path, good: dict[str, bytes]) -> None:
    file = packed(tmp_path / "x.zip", {**good, "solutions/box-blur/big.cpp": b"7" * 2_000_000})
    data = file.read_bytes().replace((2_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    file.write_bytes(data)
    assert "refused whole" in refused(tmp_path, file)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x",
        "format: [",
        "- just\n- a list",
        "[" * 100_000,
        "format: kernelwright/solution/99\nid: box-blur",
    ],
)
def test_bad_yaml_refuses_the_whole(tmp_path: Path, good: dict[str, bytes], text: str) -> None:
    a_ladder_folder(tmp_path / "more", "fine")
    fine = {f"solutions/fine/{p.name}": p.read_bytes() for p in (tmp_path / "more" / "fine").iterdir()}
    bad = {**fine, **good, "solutions/box-blur/solution.yaml": text.encode()}
    told = refused(tmp_path, packed(tmp_path / "x.zip", bad))
    assert "x.zip: refused whole: box-blur/solution.yaml" in told and ".import." not in told


@pytest.mark.parametrize("gone", ["licence: Apache-2.0\n", "  source: lecture on scheduling, page 12\n"])
def test_no_entry_without_licence_and_source(tmp_path: Path, good: dict[str, bytes], gone: str) -> None:
    head = "solutions/box-blur/solution.yaml"
    bad = {**good, head: good[head].replace(gone.encode(), b"")}
    assert "refused whole: box-blur/solution.yaml" in refused(tmp_path, packed(tmp_path / "x.zip", bad))


def test_manifest_and_files_must_agree(tmp_path: Path, good: dict[str, bytes]) -> None:
    told = {n: {"sha256": hashlib.sha256(c).hexdigest(), "bytes": len(c)} for n, c in good.items()}
    cases = {
        "hash": {**told, "solutions/box-blur/naive.cpp": {"sha256": "0" * 64, "bytes": 1}},
        "missing": {k: v for k, v in told.items() if "naive" not in k},
        "more": {**told, "solutions/box-blur/ghost.cpp": {"sha256": "0" * 64, "bytes": 1}},
    }
    for name, files in cases.items():
        file = packed(tmp_path / f"{name}.zip", good, manifest={"format": FORMAT, "entries": [], "files": files})
        assert "refused whole" in refused(tmp_path, file)
    for number, text in enumerate(
        ["{", "[]", '{"format": "other/1"}', json.dumps({"format": FORMAT, "files": 3}), "[" * 99_999]
    ):
        assert MANIFEST in refused(tmp_path, packed(tmp_path / f"{number}.zip", good, manifest=text)) or number == 2


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04 not really")
    assert "zip" in refused(tmp_path, tmp_path / "x.zip")
    with pytest.raises(LibraryError, match="no such archive"):
        import_archive(a_library(tmp_path / "s"), tmp_path / "none.zip")


def test_names_that_differ_in_case_only_are_refused(tmp_path: Path, good: dict[str, bytes]) -> None:
    assert "one name" in refused(tmp_path, packed(tmp_path / "x.zip", {**good, "solutions/box-blur/NAIVE.cpp": b"x"}))
