"""Lessons as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.cli.drawing import one_line
from kernelwright.records import LessonState
from kernelwright.records.wording import format_count

if TYPE_CHECKING:
    from kernelwright.promptopt.lesson_files import LessonProblem
    from kernelwright.promptopt.likeness import Conflict
    from kernelwright.promptopt.upkeep import UpkeepReport
    from kernelwright.records import Lesson, LessonEvidence, LessonScope, LessonTrial, PromptVersion


WHOLE = "these are whole kernels over the best baseline: what this step alone bought was not measured"


def list_text(lessons: Sequence[Lesson], problems: Sequence[LessonProblem], conflicts: Sequence[Conflict]) -> str:
    """One lesson a line, then what cannot be used, then conflicts."""
    width = max((len(x.id) for x in lessons), default=2)
    order = list(LessonState)
    lessons = sorted(lessons, key=lambda x: ((order.index(x.state) - 1) % len(order), x.id))  # active ones first
    lines = [f"{'ID':<{width}}  {'STATE':<9} {'FOR':>4} {'AGAINST':>8}  EVIDENCE"] if lessons else ["no lessons"]
    for x in lessons:
        pro, con = len(x.evidence.supporting), len(x.evidence.contradicting)
        told = [] if x.effect is not None and not x.evidence.trials else [counts(x.evidence)]
        told += [f"in prompts {x.effect.estimate:+.3f} [{x.effect.low:+.3f}, {x.effect.high:+.3f}]"] if x.effect else []
        lines.append(f"{x.id:<{width}}  {x.state.value:<9} {pro:>4} {con:>8}  {'; '.join(told)}")
    lines += [f"not used ({p.kind}): {one_line(p.message)}" for p in problems]
    lines += [f"conflict: {c.one} and {c.other}: {c.why}" for c in conflicts]
    return "\n".join(lines)


def counts(evidence: LessonEvidence) -> str:
    """n, median gain with its interval, failures."""
    if evidence.n == 0 and evidence.failures == 0:
        return "no decision yet"
    told = f"n={evidence.n}"
    if evidence.median_gain is not None and evidence.low is not None and evidence.high is not None:
        interval = f"[{evidence.low:.2f}, {evidence.high:.2f}]"
        told += f", median {evidence.median_gain:.2f}x {interval} over the {evidence.over}"
    return told + (f", {evidence.failures} refused by the judge" if evidence.failures else "")


def show_text(lesson: Lesson, file: Path) -> str:
    """A lesson in full."""
    effect = lesson.effect
    lines = [
        f"{lesson.id} ({lesson.state})",
        f"  {lesson.sentence}",
        f"  scope      {scope_text(lesson.scope)}",
        f"  roles      {', '.join(lesson.roles) or 'none: no prompt shows it'}",
        f"  technique  {lesson.technique or 'none'}",
        f"  evidence   {counts(lesson.evidence)}",
        "  in prompts " + ("not known: it was never left out at random" if effect is None else effect_text(lesson)),
        f"  expires    {lesson.expires or 'never'}",
        f"  origin     {lesson.origin}",
        f"  file       {file}",
    ]
    if lesson.history:
        lines.append(f"  last       {lesson.history[-1].what}: {lesson.history[-1].reason}")
    return "\n".join(lines)


def scope_text(scope: LessonScope) -> str:
    """A scope in words."""
    parts = [f"{name} {', '.join(getattr(scope, name))}" for name in type(scope).model_fields if getattr(scope, name)]
    return "; ".join(parts) or "everywhere"


def effect_text(lesson: Lesson) -> str:
    """What showing it changed."""
    e = lesson.effect
    assert e is not None
    drawn = f"{format_count(e.shown, 'prompt')} with it, {e.left_out} without, {e.method}"
    return f"{e.estimate:+.3f} [{e.low:+.3f}, {e.high:+.3f}] in log speed-up ({drawn})"


def why_text(lesson: Lesson) -> str:
    """Each decision for and against, with its numbers."""
    lines = [f"{lesson.id} ({lesson.state}): {lesson.sentence}", f"  {counts(lesson.evidence)}"]
    if lesson.evidence.n and lesson.evidence.over == "baseline":
        lines.append(f"  {WHOLE}")
    for side in ("supporting", "contradicting", "neutral"):
        trials = [t for t in lesson.evidence.trials if t.side == side]
        if trials:
            lines += [f"{side}:", *(f"  {_trial(t)}" for t in trials)]
    if not lesson.evidence.trials:
        lines.append("no decision speaks for or against it")
    lines.append("in prompts: " + ("not known yet" if lesson.effect is None else effect_text(lesson)))
    return "\n".join(lines)


def _trial(trial: LessonTrial) -> str:
    gain = trial.gain
    told = "refused by the judge"
    if gain is not None:
        told = f"{gain.value:.3f}x [{gain.low:.3f}, {gain.high:.3f}] over the {trial.over}, "
        told += format_count(gain.pairs, "pair")
    where = ", ".join(w for w in (trial.family, trial.bottleneck, trial.language, trial.device) if w)
    return f"{told}  ({where})  {trial.source}"


def upkeep_text(report: UpkeepReport, versions: Sequence[PromptVersion], *, decisions: int) -> str:
    """What a pass over all lessons did."""
    lines = [f"{format_count(decisions, 'decision')} judged in full"]
    lines += [f"proposed  {id}" for id in report.proposed]
    lines += [f"widened   {id}" for id in report.widened]
    lines += [f"merged    {dropped} into {kept}" for kept, dropped in report.merged]
    lines += [f"moved     {m.id}: {m.before} -> {m.after}: {m.reason}" for m in report.moved]
    lines += [f"refused   {r.id}: {'; '.join(r.reasons)}" for r in report.refused]
    lines += [f"conflict  {c.one} and {c.other}: {c.why}" for c in report.conflicts]
    have = "has" if report.recounted == 1 else "have"
    lines.append(f"{format_count(report.recounted, 'lesson')} {have} new numbers")
    lines += [f"{v.role} now uses {v.id}: {one_line(v.reason, 100)}" for v in versions]
    return "\n".join(lines)
