"""Pages of knowledge: Markdown with YAML front matter, read into Technique and Hardware records.

Owns the form of a page; ``platform/records`` owns what its fields may say. It runs none of a page's code and ranks
nothing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kernelwright.errors import LibraryError, UnknownName
from kernelwright.memory import yaml_text
from kernelwright.memory.library import shipped_root
from kernelwright.memory.validation import validated
from kernelwright.records import Hardware, Record, Technique

TECHNIQUE_SECTIONS = {
    "What it does": "what",
    "When": "when",
    "Before and after": "change",
    "Risks": "risks",
    "How it shows in a profile": "in_profile",
    "Source": "source_notes",
}
"""Heading of a technique page -> field of the record, in the order they must stand."""
HARDWARE_SECTIONS = {"What limits kernels here": "limits", "What to use": "use", "Traps": "traps"}
R = TypeVar("R", Technique, Hardware)

SAMPLE_LANGUAGES = ("cpp", "cuda", "python")

_FENCE = re.compile(r"^(`{3,})(\S*)\s*$")
_FRONT = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)


@dataclass(frozen=True)
class PageProblem:
    """A page that cannot be used, and why."""

    file: Path
    message: str


def load_technique(file: Path) -> Technique:
    """Read one page of techniques; its file name is its id.

    Raises:
        LibraryError: anything wrong, with file and field or section.
    """
    front, sections = _page(file, TECHNIQUE_SECTIONS, Technique)
    text, samples = _samples(sections.pop("change"), file)
    fields = {**front, **sections, "change": text, "before": samples[0], "after": samples[1]}
    technique = validated(Technique, fields, file)
    for source in technique.sources:
        if f"]({source.url})" not in technique.source_notes:
            raise LibraryError(f"{file}: section Source: does not link {source.url}, which the front matter names")
    return technique


def load_hardware(file: Path) -> Hardware:
    """Read one page of hardware; its file name is its id.

    Raises:
        LibraryError: anything wrong, with file and field or section.
    """
    front, sections = _page(file, HARDWARE_SECTIONS, Hardware)
    return validated(Hardware, {**front, **sections}, file)


def load_techniques(root: Path | None = None) -> tuple[list[Technique], list[PageProblem]]:
    """All pages of techniques, by id; a broken one becomes a problem, the others stay.

    Args:
        root: a folder of pages; None means the shipped ones.
    """
    techniques, problems = _load_all(root or shipped_pages("techniques"), load_technique)
    claimed: dict[str, str] = {}
    for technique in techniques:
        for name in technique.names:
            if name in claimed:
                file = Path(f"{technique.id}.md")
                problems.append(PageProblem(file, f"{file}: {name!r} is also explained by {claimed[name]}.md"))
            claimed.setdefault(name, technique.id)
    return techniques, problems


def load_all_hardware(root: Path | None = None) -> tuple[list[Hardware], list[PageProblem]]:
    """All pages of hardware, by id; a broken one becomes a problem, the others stay.

    Args:
        root: a folder of pages; None means the shipped ones.
    """
    return _load_all(root or shipped_pages("hardware"), load_hardware)


def technique_named(name: str, techniques: Iterable[Technique]) -> Technique:
    """The page that explains what ``Decision.technique`` says.

    Raises:
        UnknownName: no page does; the nearest are named.
    """
    by_name = {n: t for t in techniques for n in t.names}
    if name not in by_name:
        raise UnknownName("technique", name, by_name)
    return by_name[name]


def shipped_pages(folder: str) -> Path | None:
    """Where the pages that come with kernelwright lie; None when they are not installed.

    Args:
        folder: ``techniques`` or ``hardware``.
    """
    solutions = shipped_root()
    return solutions.parent / folder if solutions else None


def page_files(root: Path) -> list[Path]:
    """The files of a folder that should hold a page, in order of name."""
    return sorted(p for p in root.glob("*.md") if p.name != "README.md" and not p.name.startswith((".", "_")))


def _load_all(root: Path | None, load: Callable[[Path], R]) -> tuple[list[R], list[PageProblem]]:
    pages: list[R] = []
    problems: list[PageProblem] = []
    for file in page_files(root) if root else ():
        try:
            pages.append(load(file))
        except LibraryError as error:
            problems.append(PageProblem(file, str(error)))
    return pages, problems


def _page(file: Path, headings: dict[str, str], kind: type[Record]) -> tuple[dict[str, Any], dict[str, str]]:
    """Front matter and sections of a page, by field."""
    text = yaml_text.read_text(file).replace("\r\n", "\n")
    found = _FRONT.match(text)
    if not found:
        raise LibraryError(f"{file}: expected front matter between two lines of ---, from the first line on")
    front = yaml_text.parse("\n" + found.group(1), where=file)  # the line break keeps line numbers true
    if "format" not in front:
        raise LibraryError(f"{file}: field format: is missing", hint=f"begin with format: {kind.format_name()}")
    for field in ("before", "after", *headings.values()):
        if field in front:
            raise LibraryError(f"{file}: field {field}: belongs under a heading, not in the front matter")
    title, sections = _sections(text[found.end() :], file)
    if title != front.get("title"):
        raise LibraryError(f"{file}: field title: {front.get('title')!r} differs from the heading {title!r}")
    if front.get("id") != file.stem:
        raise LibraryError(f"{file}: field id: {front.get('id')!r} differs from the file's name {file.stem!r}")
    if list(sections) != list(headings):
        raise LibraryError(f"{file}: {_heading_complaint(list(sections), list(headings))}")
    return front, {headings[heading]: body for heading, body in sections.items()}


def _heading_complaint(found: Sequence[str], wanted: Sequence[str]) -> str:
    missing = [h for h in wanted if h not in found]
    unknown = [h for h in found if h not in wanted]
    if missing:
        return f"section {missing[0]!r} is missing"
    if unknown:
        near = difflib.get_close_matches(unknown[0], wanted, n=1)
        return f"section {unknown[0]!r} is unknown" + (f", did you mean {near[0]!r}?" if near else "")
    return f"sections stand in another order than {', '.join(wanted)}"


def _sections(text: str, file: Path) -> tuple[str, dict[str, str]]:
    """The page's title, and its sections by heading; headings inside fenced blocks are text."""
    title = ""
    heading = ""
    bodies: dict[str, list[str]] = {}
    for line, fenced in _lines(text, file):
        if not fenced and line.startswith("# ") and not title and not bodies:
            title = line[2:].strip()
        elif not fenced and line.startswith("## "):
            heading = line[3:].strip()
            if heading in bodies:
                raise LibraryError(f"{file}: section {heading!r} stands twice")
            bodies[heading] = []
        elif heading:
            bodies[heading].append(line)
        elif line.strip():
            raise LibraryError(f"{file}: text before the first section: {line.strip()[:60]!r}")
    sections = {h: "\n".join(lines).strip() for h, lines in bodies.items()}
    for name, body in sections.items():
        if not body:
            raise LibraryError(f"{file}: section {name!r} is empty")
    return title, sections


def _lines(text: str, file: Path) -> Iterator[tuple[str, bool]]:
    """Every line, and whether it belongs to a fenced block."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            yield line, True
            if mark and mark.group(1) == fence and not mark.group(2):
                fence = ""
        else:
            fence = mark.group(1) if mark else ""
            yield line, bool(mark)
    if fence:
        raise LibraryError(f"{file}: a fenced block is not closed")


def _samples(section: str, file: Path) -> tuple[str, list[dict[str, str]]]:
    """The two fenced blocks of "Before and after", and the text around them."""
    around: list[str] = []
    blocks: list[list[str]] = []
    inside = False
    for line, fenced in _lines(section, file):
        if fenced and not inside:
            blocks.append([])
        if fenced:
            blocks[-1].append(line)
        elif line.strip() not in ("Before:", "After:"):
            around.append(line)
        # a fence that closes ends its block; the next fenced line would open another
        inside = fenced and not (len(blocks[-1]) > 1 and _FENCE.match(line))
    if len(blocks) != 2:
        raise LibraryError(f"{file}: section 'Before and after': expected two fenced blocks, found {len(blocks)}")
    samples = []
    for block in blocks:
        mark = _FENCE.match(block[0])
        language = mark.group(2) if mark else ""
        if language not in SAMPLE_LANGUAGES:
            known = ", ".join(SAMPLE_LANGUAGES)
            raise LibraryError(f"{file}: section 'Before and after': block marked {language!r}, expected {known}")
        samples.append({"language": language, "text": "\n".join(block[1:-1]) + "\n"})
    return "\n".join(around).strip(), samples
