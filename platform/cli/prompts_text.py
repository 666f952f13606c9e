"""Prompt versions as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelwright.cli.drawing import one_line
from kernelwright.records.wording import format_count

if TYPE_CHECKING:
    from kernelwright.promptopt.blame import Blame
    from kernelwright.promptopt.journal import Limits, Spent, Step
    from kernelwright.promptopt.lineage import Lineage
    from kernelwright.promptopt.restoring import Restored
    from kernelwright.promptopt.score_changes import ScoreChange
    from kernelwright.promptopt.versions import PromptStore
    from kernelwright.records import PromptScore, PromptVersion


def roles_text(stores: Sequence[PromptStore]) -> str:
    """One role a line, then what cannot be used."""
    lines = []
    for store in stores:
        current, count = store.current, len(store.lineage.versions)
        told = "the shipped text"
        if current is not None:
            told = f"{current.id}, {format_count(len(current.lessons), 'lesson')}, {format_count(count, 'version')}"
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
    gains = (_gain(s) for s in lineage.scores(version.id))
    lessons = format_count(len(version.lessons), "lesson")
    told = f"{version.id}{mark} {version.origin}, {lessons}: {one_line(state, 110)}"
    return "; ".join([told, *gains])


def _gain(score: PromptScore) -> str:
    against = f" against {score.against}" if score.against else ""
    return f"{part_name(score.split)} {score.gain:+.3f} [{score.low:+.3f}, {score.high:+.3f}]{against}"


def part_name(part: str) -> str:
    """The words for what a score was measured on."""
    return {"held_out": "held-out", "remeasured": "re-measured"}.get(part, part)


def restored_text(made: Restored) -> list[str]:
    """What became of lessons when another version was taken into use: each with what to do about it."""
    role = made.asked.role
    told = [f"not shown to the {role} any more: {id}" for id in made.taken]
    told += [f"shown to the {role} again: {id}" for id in made.given]
    told += [
        f"not active any more, not shown: {id} (lessons why {id}; lessons edit {id} --state active --reason ...)"
        for id in made.inactive
    ]
    told += [f"shown in its newer words: {id} (lessons history {id})" for id in made.reworded]
    if made.version.id != made.asked.id:
        told.append(f"{made.version.id} is {made.asked.id} with its lessons as they stand now")
    if made.taken and made.before:
        told.append(f"all of it is undone by: kernelwright prompts promote {made.before} --role {role}")
    return told


def score_text(score: PromptScore, *, families: bool = False) -> str:
    """A paired score in a line."""
    told = f"{part_name(score.split)} {score.gain:+.3f} [{score.low:+.3f}, {score.high:+.3f}] "
    told += f"over {format_count(score.pairs, 'pair')}" + (f" against {score.against}" if score.against else "")
    if families and score.families:
        told += " (" + ", ".join(f"{name} {gain:+.3f}" for name, gain in score.families.items()) + ")"
    return told


def change_text(change: ScoreChange) -> str:
    """What was measured between two versions, step by step and by family; what was not."""
    lines = []
    for step in change.steps:
        turned = "  (the way leads back here: it counts with the other sign)" if step.backwards else ""
        lines.append(f"{step.version}: {score_text(step.score, families=True)}{turned}")
    if change.families:
        told = (f"{name} {c.gain:+.3f}{_share(c.steps, change.of)}" for name, c in change.families.items())
        lines.append(f"in all, by family, in log speed-up: {', '.join(told)}")
    if change.unmeasured and change.steps:
        lines.append(f"never compared with its parent: {', '.join(change.unmeasured)}")
    return "\n".join(lines) or "no score between the two was measured"


def _share(steps: int, of: int) -> str:
    return "" if steps == of else f" ({steps} of {of} steps)"


def blame_text(found: Sequence[Blame]) -> str:
    """Sentences, then what is behind them; those in a row with one origin share it."""
    lines: list[str] = []
    for number, b in enumerate(found):
        lines.append(b.sentence)
        if number + 1 < len(found) and replace(found[number + 1], sentence=b.sentence) == b:
            continue
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
            kept = format_count(step.spent.trials, "trial")
            self._say(f"going on: {kept} of earlier sessions kept, {self._spent(step.spent)}")
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
