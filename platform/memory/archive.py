"""Export and import: entries as one zip archive with a manifest of hashes.

Owns the archive's form and the refusal of hostile ones: an archive is taken whole or not at all, nothing is written
outside a staging folder before everything was checked, and no file of it is ever run. What comes in is a proposal.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

from kernelwright.errors import LibraryError
from kernelwright.memory import yaml_text
from kernelwright.memory.curation import user_shelf
from kernelwright.memory.library import Library
from kernelwright.memory.solution_files import SOLUTION_FILE, load_solution
from kernelwright.records import ReviewState, Solution

FORMAT = "kernelwright/library-archive/1"
MANIFEST = "manifest.json"
MAX_ARCHIVE_BYTES = 64_000_000
MAX_TOTAL_BYTES = 128_000_000
"""Unpacked. A library of a thousand ladders has a tenth of it."""
MAX_FILE_BYTES = yaml_text.MAX_BYTES
MAX_MANIFEST_BYTES = 8_000_000
MAX_MEMBERS = 50_000
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+\-]{0,99}")
"""One part of a path. No leading dot, no colon, no backslash, no control character."""


@dataclass(frozen=True)
class Imported:
    """What an import brought."""

    added: tuple[str, ...]
    unchanged: tuple[str, ...]
    """Ids whose files are on a shelf already, byte for byte."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Id in the archive -> the id that it came in under, because the first one was taken."""


def export(library: Library, ids: Iterable[str], file: Path) -> list[str]:
    """Write entries into one archive; the same entries give the same bytes.

    Args:
        library: where they stand.
        ids: which; () means all that are in use on the user's and the team's shelf.
        file: must not exist.

    Returns:
        The exported ids.

    Raises:
        UnknownName: no such entry.
        LibraryError: nothing to export, the file exists, or it cannot be written.
    """
    chosen = sorted(set(ids)) or [s.id for s in library.solutions if s.origin != "shipped"]
    if not chosen:
        raise LibraryError("nothing to export: no entry of your own", hint="name shipped ones by id")
    if file.exists():
        raise LibraryError(f"{file} exists already")
    contents: dict[str, bytes] = {}
    for id in chosen:
        library.get(id)  # a broken entry is not passed on
        folder = library.folder(id)
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
            relative = path.relative_to(folder)
            if not any(part.startswith(".") or part == "__pycache__" for part in relative.parts):
                contents[f"solutions/{id}/{relative.as_posix()}"] = path.read_bytes()
    listed = {n: {"sha256": hashlib.sha256(c).hexdigest(), "bytes": len(c)} for n, c in contents.items()}
    manifest = json.dumps({"format": FORMAT, "entries": chosen, "files": listed}, indent=1)
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in [(MANIFEST, manifest.encode()), *contents.items()]:
                info = zipfile.ZipInfo(name)  # a fixed date: equal content, equal archive
                info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(info, content)
        os.replace(part, file)
    except OSError as error:
        raise LibraryError(f"cannot write {file}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return chosen


def import_archive(library: Library, file: Path, *, keep_review: bool = False, rename: bool = False) -> Imported:
    """Take the entries of an archive onto the user's shelf, all of them or none.

    Args:
        library: whose user shelf they come to.
        file: what :func:`export` wrote, here or elsewhere.
        keep_review: leave review states as they are; False makes every entry a proposal, to be promoted here.
        rename: an entry whose id is taken with other content comes in under another id; False refuses the archive.

    Raises:
        LibraryError: the archive is damaged, hostile, too large, holds a broken entry or one without licence and
            source, or, without ``rename``, an id that is taken with other content.
    """
    contents = _checked(file)
    shelf = user_shelf(library)
    shelf.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=shelf, prefix=".import."))
    try:
        for name, content in contents.items():
            path = staging / PurePosixPath(name).relative_to("solutions")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        folders = sorted(p for p in staging.iterdir())
        solutions = {folder: _loaded(folder, file) for folder in folders}
        unchanged = [f.name for f in folders if library.has(f.name) and _same_files(f, library.folder(f.name))]
        fresh = [f for f in folders if f.name not in unchanged]
        taken = sorted(f.name for f in fresh if library.has(f.name))
        if taken and not rename:
            raise LibraryError(
                f"{file}: refused whole: other entries have these ids: {', '.join(taken)}",
                hint="with --rename they come in under other ids",
            )
        placed: list[Path] = []
        renamed: dict[str, str] = {}
        for folder in fresh:
            if not keep_review:
                _as_proposal(folder, solutions[folder], file)
            if folder.name in taken:
                renamed[folder.name] = _free_id(library, folder.name, {f.name for f in folders})
                folder = _under(folder, renamed[folder.name])
            placed.append(folder)
        _place(placed, shelf)
        return Imported(tuple(f.name for f in placed), tuple(unchanged), renamed)
    except OSError as error:
        raise LibraryError(f"cannot unpack {file}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _loaded(folder: Path, file: Path) -> Solution:
    """An unpacked entry; a broken one refuses the archive, in the words that its own folder would get."""
    try:
        return load_solution(folder)
    except LibraryError as error:
        raise _refused(file, error.message.replace(f"{folder.parent}{os.sep}", "")) from None


def _as_proposal(folder: Path, solution: Solution, file: Path) -> None:
    was = solution.review
    told = f"imported from {file.name}; there {was.state}" + (f" by {was.reviewer}" if was.reviewer else "")
    head = folder / SOLUTION_FILE
    block = {"state": ReviewState.PROPOSED.value, "reason": f"{told}: {was.reason}" if was.reason else told}
    yaml_text.replace_text(head, yaml_text.set_value(yaml_text.read_text(head), ("review",), block))


def _free_id(library: Library, id: str, others: set[str]) -> str:
    """The id with the first number that is neither taken nor in the archive."""
    number = 2
    while library.has(f"{id}-{number}") or f"{id}-{number}" in others:
        number += 1
    return f"{id}-{number}"


def _under(folder: Path, id: str) -> Path:
    """An unpacked entry under another id."""
    moved = folder.with_name(id)
    os.rename(folder, moved)
    head = moved / SOLUTION_FILE
    yaml_text.replace_text(head, yaml_text.set_value(yaml_text.read_text(head), ("id",), id))
    load_solution(moved)
    return moved


def _place(folders: list[Path], shelf: Path) -> None:
    """Move all folders to the shelf; when one cannot be, those before it are taken back."""
    done: list[Path] = []
    try:
        for folder in folders:
            target = shelf / folder.name
            if target.exists():
                raise LibraryError(f"{target} exists already")
            os.rename(folder, target)
            done.append(target)
    except BaseException:
        for target in done:
            shutil.rmtree(target, ignore_errors=True)
        raise


def _same_files(one: Path, other: Path) -> bool:
    def texts(folder: Path) -> dict[str, bytes]:
        files = (p for p in folder.rglob("*") if p.is_file())
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}

    return texts(one) == texts(other)


def _checked(file: Path) -> dict[str, bytes]:
    """Name -> content of every file of an archive, after all checks that need no unpacking to disk."""
    try:
        if file.stat().st_size > MAX_ARCHIVE_BYTES:
            raise _refused(file, f"larger than {MAX_ARCHIVE_BYTES} bytes")
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                raise _refused(file, f"more than {MAX_MEMBERS} files")
            for member in members:
                _check_member(file, member)
            plain = [m for m in members if not m.is_dir()]
            _check_names(file, [m.filename for m in plain])
            if sum(m.file_size for m in plain) > MAX_TOTAL_BYTES:
                raise _refused(file, f"more than {MAX_TOTAL_BYTES} bytes unpacked")
            listed = _manifest(file, archive)
            contents = {m.filename: _read(file, archive, m) for m in plain if m.filename != MANIFEST}
    except FileNotFoundError:
        raise LibraryError(f"{file}: no such archive") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise _refused(file, f"not a readable zip archive ({error})") from None
    if listed.keys() != contents.keys():
        odd = sorted(listed.keys() ^ contents.keys())[0]
        raise _refused(file, f"manifest and files differ, first at {odd!r}")
    for name, content in contents.items():
        if listed[name] != hashlib.sha256(content).hexdigest():
            raise _refused(file, f"{name} is not what the manifest says (hash differs)")
    return contents


def _check_member(file: Path, member: zipfile.ZipInfo) -> None:
    name = member.filename
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _refused(file, f"{name!r} is a link or special file")
    if member.flag_bits & 0x1:
        raise _refused(file, f"{name!r} is encrypted")
    if name == MANIFEST:
        if member.file_size > MAX_MANIFEST_BYTES:
            raise _refused(file, f"{name!r} is too large")
        return
    parts = name.rstrip("/").split("/")
    deep = len(parts) < (1 if member.is_dir() else 3) or len(parts) > 8
    if parts[0] != "solutions" or deep or not all(_NAME.fullmatch(part) for part in parts):
        raise _refused(file, f"{name[:80]!r} is no path of a library entry")
    if member.file_size > MAX_FILE_BYTES:
        raise _refused(file, f"{name!r} has {member.file_size} bytes, {MAX_FILE_BYTES} are allowed")


def _check_names(file: Path, names: list[str]) -> None:
    """Refuse names given twice, also where only case tells them apart, and files that are also folders."""
    folded = [n.lower() for n in names]
    folders = {"/".join(n.split("/")[:i]) for n in folded for i in range(1, n.count("/") + 1)}
    if len(set(folded)) != len(folded) or folders & set(folded):
        raise _refused(file, "two files have one name")


def _manifest(file: Path, archive: zipfile.ZipFile) -> dict[str, str]:
    if MANIFEST not in archive.namelist():
        raise _refused(file, f"it has no {MANIFEST}")
    try:
        data: Any = json.loads(_read(file, archive, archive.getinfo(MANIFEST), limit=MAX_MANIFEST_BYTES))
        if data["format"] != FORMAT:
            raise _refused(file, f"format {data['format']!r}, this kernelwright reads {FORMAT}")
        return {str(name): str(told["sha256"]) for name, told in data["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _refused(file, f"its {MANIFEST} is unreadable ({error})") from None


def _read(file: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """A member's content; a bomb whose header lies about its size is stopped at the limit."""
    stream: IO[bytes]
    with archive.open(member) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit or len(content) != member.file_size:
        raise _refused(file, f"{member.filename!r} is larger than it says")
    return content


def _refused(file: Path, why: str) -> LibraryError:
    return LibraryError(f"{file}: refused whole: {why}", hint="nothing was imported")
