"""lineage.jsonl of a role: every version and what was done with it, one line each, only ever appended to.

What cannot be read, has no parent, or whose text is missing, edited by hand or poisoned is reported and skipped. It is
never applied, and its lines and files stay as they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.promptopt.screening import MAX_PROMPT, text_complaints
from kernelwright.records import PromptEvent, PromptScore, PromptVersion, content_hash

MARK = "<!-- kernelwright: lessons"
"""Where a version's file goes over from the base text to the lessons that were active."""


@dataclass(frozen=True)
class LineageProblem:
    """A line or file of a lineage that is not used, and why."""

    where: str
    message: str


@dataclass
class Lineage:
    """What a lineage's file says."""

    versions: dict[str, PromptVersion] = field(default_factory=dict)
    """Healthy ones, in the order in which they were made."""
    broken: dict[str, PromptVersion] = field(default_factory=dict)
    """Readable ones that must not be used."""
    events: list[PromptEvent] = field(default_factory=list)
    problems: list[LineageProblem] = field(default_factory=list)

    @property
    def current(self) -> str:
        """Id of the version in use; "" for none."""
        return self.in_use[-1] if self.in_use else ""

    @property
    def in_use(self) -> list[str]:
        """The versions that were in use, oldest first; a rollback takes the last one away."""
        stack: list[str] = []
        for event in self.events:
            if event.version not in self.versions:
                continue
            if event.kind == "promoted":
                stack.append(event.version)
            elif event.kind == "rolled-back":
                stack = [*stack[:-1]]
                if not stack or stack[-1] != event.version:
                    stack.append(event.version)
        return stack

    def scores(self, id: str) -> list[PromptScore]:
        """All scores of a version: those it was made with and those that came later."""
        version = self.versions.get(id) or self.broken.get(id)
        own = list(version.scores) if version else []
        return own + [e.score for e in self.events if e.kind == "scored" and e.version == id and e.score]

    def ancestors(self, id: str) -> list[PromptVersion]:
        """A version and those it comes from, newest first."""
        found: list[PromptVersion] = []
        while id in self.versions and len(found) <= len(self.versions):
            found.append(self.versions[id])
            id = found[-1].parent
        return found


def text_hash(text: str) -> str:
    """Hash of a base text; white space at the ends and line ends do not count."""
    return content_hash(text.replace("\r\n", "\n").strip())


NOTHING = text_hash("")


def base_of(file_text: str) -> str:
    """The base text in a version's file."""
    return file_text.partition(MARK)[0].replace("\r\n", "\n").strip() + "\n"


def shown_of(file_text: str) -> str:
    """The part of a version's file that holds its lessons; "" where there are none."""
    return file_text.partition(MARK)[2]


def read_lineage(folder: Path) -> Lineage:
    """Read ``lineage.jsonl`` and check every version's file beside it.

    Args:
        folder: of the role; need not exist.
    """
    found = Lineage()
    file = folder / "lineage.jsonl"
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return found
    except OSError as error:
        found.problems.append(LineageProblem(str(file), str(error)))
        return found
    read: dict[str, PromptVersion] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                _take(json.loads(line), read, found)
            except ValueError as error:
                reason = str(error).splitlines()[0]
                found.problems.append(LineageProblem(f"{file}:{number}", f"line {number} was skipped: {reason}"))
    seen: dict[str, list[str]] = {}
    for version in read.values():
        why = _unusable(version, folder, found, seen)
        if why:
            found.broken[version.id] = version
            found.problems.append(LineageProblem(f"{folder / version.id}.md", f"{version.id} is not used: {why}"))
        else:
            found.versions[version.id] = version
    found.problems += [
        LineageProblem(str(file), f"{e.kind} {e.version}: there is no such version; the line was skipped")
        for e in found.events
        if e.version not in read
    ]
    return found


def _take(data: Any, read: dict[str, PromptVersion], found: Lineage) -> None:
    if not isinstance(data, dict):
        raise ValueError("not a mapping")
    if str(data.get("format", "")).startswith("kernelwright/prompt-event/"):
        found.events.append(PromptEvent.from_json(data))
        return
    version = PromptVersion.from_json({"format": "missing", **data})
    expected = PromptVersion.identity(
        role=version.role, parent=version.parent, base_hash=version.base_hash, lessons=version.lessons
    )
    if version.id != expected:
        raise ValueError(f"{version.id} does not match what it says ({expected}): edited by hand")
    known = read.get(version.id)
    if known is None or known.state == "rejected":  # what was rejected once may be accepted when it is tried again
        read[version.id] = version


def _unusable(version: PromptVersion, folder: Path, found: Lineage, seen: dict[str, list[str]]) -> str:
    """Why a version must not be used; versions come in the order of the file, so parents were looked at before.

    ``seen`` keeps what is wrong with a text: most versions change the lessons and share a base.
    """
    if version.parent and version.parent not in found.versions and version.parent not in found.broken:
        return f"its parent {version.parent} is missing"
    try:
        whole = (folder / f"{version.id}.md").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return f"its text cannot be read: {getattr(error, 'strerror', None) or error}"
    text, shown = base_of(whole), shown_of(whole)
    if text_hash(text) != version.base_hash:
        return "its text was edited by hand; `prompts promote --file` makes a version of an edited text"
    kept = version.shown_hash or ("" if version.lessons else NOTHING)
    if kept and text_hash(shown) != kept:
        return "its lessons were edited by hand; `lessons edit` changes a lesson"
    parts = [text] if kept else [text, *shown.splitlines()]  # what was written here was looked at before
    for part in parts:
        if part not in seen:
            seen[part] = text_complaints(part, limit=MAX_PROMPT)
    wrong = list(dict.fromkeys(why for part in parts for why in seen[part]))
    return f"its text {'; '.join(wrong)}" if wrong and version.state != "rejected" else ""
