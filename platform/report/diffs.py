"""What changed between a candidate and its parent: files line by line, schedules directive by directive.

Owns finding the directives of a pipeline candidate and making diffs as plain lines. It never runs or compiles code.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kernelwright.records import Candidate, Decision, Directive, Entry
from kernelwright.records.wording import format_count

Kind = Literal["add", "remove", "keep", "place"]
MAX_LINES = 240
"""A longer diff is cut, with a word about how much is missing."""


@dataclass(frozen=True)
class DiffLine:
    """One line of a diff."""

    kind: Kind
    text: str

    @property
    def marked(self) -> str:
        """The line with the mark that patch files use."""
        return {"add": "+", "remove": "-", "keep": " ", "place": ""}[self.kind] + self.text


@dataclass(frozen=True)
class Diff:
    """Everything that changed."""

    title: str
    """In words: ``2 lines added, 3 removed``."""
    lines: tuple[DiffLine, ...] = ()

    @property
    def text(self) -> str:
        """The diff as a patch file shows it."""
        return "\n".join(line.marked for line in self.lines)


def directives_of(candidate: Candidate) -> tuple[Directive, ...]:
    """The schedule of a pipeline candidate: the first JSON file that holds a list of directives; () when none does."""
    for file in candidate.files:
        if not file.path.endswith(".json"):
            continue
        try:
            data = json.loads(file.text)
        except ValueError:
            continue
        found = data.get("directives") if isinstance(data, dict) else data
        try:
            directives = tuple(Directive.model_validate(d) for d in found) if isinstance(found, list) else ()
        except ValueError:
            continue
        if directives:
            return directives
    return ()


def diff_step(
    decision: Decision, parent: Candidate | None, child: Candidate | None, parent_decision: Decision | None = None
) -> Diff:
    """What a decision changed.

    Args:
        decision: the edge between both.
        parent: None when it starts from the reference, or is not at hand.
        child: None when nothing could be made.
        parent_decision: the decision that led to the parent; its directives stand in where files hold none.
    """
    if child is None:
        return Diff("nothing was made")
    tuned = _tunables(parent, child)
    if child.entry is Entry.PIPELINE:
        before = (parent and directives_of(parent)) or (parent_decision.directives if parent_decision else ())
        after = directives_of(child) or decision.directives
        lines = _compare([str(d) for d in before], [str(d) for d in after], context=len(before) + len(after))
        lines = [line for line in lines if line.kind != "place"]
        return _titled([*lines, *tuned], "directive")
    if parent is None:
        size = sum(len(f.text.splitlines()) for f in child.files)
        names = ", ".join(f.path for f in child.files)
        return Diff(f"new from the reference: {names}, {format_count(size, 'line')}", tuple(tuned))
    if parent.language is not child.language:
        return Diff(f"rewritten from {parent.language} in {child.language}", tuple(tuned))
    lines = []
    for name in dict.fromkeys(f.path for f in (*parent.files, *child.files)):
        lines += _compare(_text(parent, name), _text(child, name), context=2, name=name)
    return _titled([*lines, *_flags(parent, child), *tuned], "line")


def _text(candidate: Candidate, name: str) -> list[str]:
    return next((f.text.splitlines() for f in candidate.files if f.path == name), [])


def _compare(before: Sequence[str], after: Sequence[str], *, context: int, name: str = "") -> list[DiffLine]:
    lines: list[DiffLine] = []
    for line in difflib.unified_diff(before, after, lineterm="", n=context):
        if line.startswith(("---", "+++")) and not lines:
            continue
        if line.startswith("@@"):
            lines.append(DiffLine("place", f"{name} {line}".strip()))
        else:
            kind: Kind = "add" if line[:1] == "+" else "remove" if line[:1] == "-" else "keep"
            lines.append(DiffLine(kind, line[1:]))
    if not lines and context > 2:  # a schedule that stayed as it was is shown, a file is not
        return [DiffLine("keep", text) for text in after]
    return lines


def _values(candidate: Candidate | None) -> dict[str, Any]:
    return candidate.tunable_values() if candidate is not None else {}


def _tunables(parent: Candidate | None, child: Candidate) -> list[DiffLine]:
    before, after = _values(parent), _values(child)
    lines = []
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            lines += [DiffLine("remove", f"{name} = {before[name]}")] if name in before else []
            lines += [DiffLine("add", f"{name} = {after[name]}")] if name in after else []
    return [DiffLine("place", "tunables"), *lines] if lines else []


def _flags(parent: Candidate, child: Candidate) -> list[DiffLine]:
    gone = [DiffLine("remove", flag) for flag in parent.flags if flag not in child.flags]
    new = [DiffLine("add", flag) for flag in child.flags if flag not in parent.flags]
    return [DiffLine("place", "flags"), *gone, *new] if gone or new else []


def _titled(lines: list[DiffLine], noun: str) -> Diff:
    added = sum(line.kind == "add" for line in lines)
    removed = sum(line.kind == "remove" for line in lines)
    if not added and not removed:
        return Diff("no change in the sources" if noun == "line" else "the same directives", tuple(lines))
    if not removed:
        title = f"{added} {noun}{'s' * (added != 1)} added"
    elif not added:
        title = f"{removed} {noun}{'s' * (removed != 1)} removed"
    else:
        title = f"{added} {noun}{'s' * (added != 1)} added, {removed} removed"
    if len(lines) > MAX_LINES:
        left = len(lines) - MAX_LINES
        lines = [*lines[:MAX_LINES], DiffLine("place", f"({format_count(left, 'more line')} of diff left out)")]
    return Diff(title, tuple(lines))
