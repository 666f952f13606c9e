"""Prompt versions as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kernelwright.cli.drawing import one_line

if TYPE_CHECKING:
    from kernelwright.promptopt.blame import Blame
    from kernelwright.promptopt.journal import Limits, Spent, Step
    from kernelwright.promptopt.lineage import Lineage
    from kernelwright.promptopt.versions import PromptStore
    from kernelwright.records import Lesson, PromptScore, PromptVersion


def roles_text(stores: Sequence[PromptStore]) -> str:
    """One role a line, then what cannot be used."""
    lines = []
    for store in stores:
        current, count = store.current, len(store.lineage.versions)
        told = "the shipped text"
        if current is not None:
            told = f"{current.id}, {len(current.lessons)} lessons, {count} versions"
        lines.append(f"{store.role:<12} {told}")
    lines += [f"not used: {one_line(p.message)} ({p.where})" for s in stores for p in s.lineage.problems]
    return "\n".join(lines) or "no prompts"


def log_text(lineage: Lineage, *, limit: int = 0) -> str:
    """The tree, children under their parent, oldest first; a line of only children stays flush."""
    children: dict[str, list[PromptVersion]] = {}
    for version in lineage.versions.values():
        parent = version.parent if version.parent in lineage.versions else ""
        children.setdefault(parent, []).append(version)
    lines: list[str] = []
    stack = [(version, 0) for version in reversed(children.get("", []))]
    while stack:
        version, depth = stack.pop()
        lines.append(f"{'| ' * min(depth, 30)}* {_line(version, lineage)}")
        below = children.get(version.id, [])
        leaves = [v for v in below if v.id not in children and v.state != "rejected"]
        trunk = [v for v in below if v.id in children] or leaves[-1:]
        stack += [(v, depth) for v in reversed(trunk)]
        stack += [(v, depth + 1) for v in reversed(below) if v not in trunk]
    told = lines[-limit:] if limit else lines
    told += [f"not used: {one_line(p.message)} ({p.where})" for p in lineage.problems]
    return "\n".join(told) or "no versions yet: the shipped text is in use"


def _line(version: PromptVersion, lineage: Lineage) -> str:
    mark = " <- in use:" if version.id == lineage.current else ""
    state = f"rejected: {version.rejected_because}" if version.state == "rejected" else version.reason
    gains = (f"{part_name(s.split)} {s.gain:+.3f} [{s.low:+.3f}, {s.high:+.3f}]" for s in lineage.scores(version.id))
    told = f"{version.id}{mark} {version.origin}, {len(version.lessons)} lessons: {one_line(state, 110)}"
    return "; ".join([told, *gains])


def part_name(part: str) -> str:
    """The words for what a score was measured on."""
    return {"held_out": "held-out", "remeasured": "re-measured"}.get(part, part)


def other_lessons(version: PromptVersion, active: Sequence[Lesson]) -> list[str]:
    """Where the active lessons of a role are not those of a version: each with what to do about it."""
    mine = {x.id: x.text_hash for x in active if version.role in x.roles}
    more = sorted(mine.keys() - version.lessons)
    told = [f"still active, and shown: {id} (lessons retire {id} --reason ...)" for id in more]
    gone = sorted(version.lessons.keys() - mine)
    told += [f"not active any more, not shown: {id} (lessons edit {id} --state active --reason ...)" for id in gone]
    both = sorted(mine.keys() & version.lessons.keys())
    newer = [id for id in both if mine[id] != version.lessons[id]]
    return told + [f"shown in its newer words: {id} (lessons edit {id})" for id in newer]


def score_text(score: PromptScore, *, families: bool = False) -> str:
    """A paired score in a line."""
    told = f"{part_name(score.split)} {score.gain:+.3f} [{score.low:+.3f}, {score.high:+.3f}] over {score.pairs} pairs"
    if families and score.families:
        told += " (" + ", ".join(f"{name} {gain:+.3f}" for name, gain in score.families.items()) + ")"
    return told


def score_changes(lineage: Lineage, old: str, new: str) -> list[tuple[str, PromptScore]]:
    """The scores of the versions between two, where one comes from the other: each against its parent."""
    for first, last in ((old, new), (new, old)):
        line = [v.id for v in lineage.ancestors(last)]
        if first in line:
            steps = line[: line.index(first)]
            return [(id, s) for id in reversed(steps) for s in lineage.scores(id)]
    return []


def blame_text(found: Sequence[Blame]) -> str:
    """A sentence, then what is behind it."""
    lines: list[str] = []
    for b in found:
        lines.append(b.sentence)
        named = f" {b.lesson}" if b.lesson else ""
        lines.append(f"    since {b.since}, {b.origin}{named}: {one_line(b.why, 160)}")
        lines += [f"    decision {source}" for source in b.decisions[:5]]
        lines += [f"    and {len(b.decisions) - 5} more: lessons why {b.lesson}"] if len(b.decisions) > 5 else []
        lines += [f"    read before: {one_line(b.feedback, 160)}"] if b.feedback else []
    return "\n".join(lines)


class Progress:
    """Each trial of an optimization in a line: which, what came of it, what is spent.

    Args:
        say: prints a line.
        limits: of the optimization.
    """

    def __init__(self, say: Callable[[str], None], limits: Limits) -> None:
        self._say, self._limits = say, limits

    def __call__(self, step: Step) -> None:
        """Say a step."""
        if step.what == "resumed":
            self._say(f"going on: {step.spent.trials} trials of earlier sessions are kept, {self._spent(step.spent)}")
        elif step.what == "proposal":
            self._say("asking for a new text")
        elif step.request is not None and step.result is None:
            of = f" of {self._limits.trials}" if self._limits.trials else ""
            stage = part_name(step.request.repetition.partition("/")[0])
            self._say(f"{step.spent.trials + 1:>4}{of}  {stage:<11} {one_line(step.request.task, 40)} ...")
        elif step.result is not None:
            told = one_line(step.result.feedback, 90)
            mark = "     kept: " if step.kept else "     "
            self._say(f"{mark}{step.result.score:+.3f}  {told}  ({self._spent(step.spent)})")

    def _spent(self, spent: Spent) -> str:
        """What is spent, with the limits that there are."""
        most = self._limits
        parts = [
            (f"{spent.measurements}", most.measurements, "measurements"),
            (f"{spent.tokens}", most.tokens, "tokens"),
            (f"{spent.seconds:.0f}", most.seconds, "s"),
            (f"{spent.cost_usd:.4f}", most.cost_usd, "USD"),
        ]
        told = [f"{value} of {limit:g} {unit}" if limit else f"{value} {unit}" for value, limit, unit in parts]
        return ", ".join(told)
