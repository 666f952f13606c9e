"""Lessons from statistics alone: technique x family x bottleneck, without a model.

A cell that decisions speak for becomes advice, one that they speak against a warning; cells of one technique and
bottleneck that agree become one lesson, whose scope names the families it was seen in and no others. Whole kernels may
advise and never warn: that a kernel is slower than the best baseline does not say that a step to it was a bad one. The
first rung of a ladder does neither: it is the plain beginning, slow on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kernelwright.memory.evidence import Observation
from kernelwright.promptopt.counting import counted, side
from kernelwright.records import Lesson, LessonScope, Technique

ORIGIN = "distiller:statistics"
LEAST_REFUSALS = 2
"""Different refused candidates from which refusals alone make a warning: a single one may be a slip of that one."""
GLOSS_CHARACTERS = 240
"""Of the words that say what a technique does; a lesson shares its prompt with others."""
BOUND_BY = {
    "memory": "memory traffic limits it",
    "compute": "arithmetic limits it",
    "latency": "chains of dependent steps limit it",
    "overhead": "launches and bookkeeping limit it",
    "parallelism": "too little work runs at once",
}
"""The words of ``Decision.bottleneck`` in a sentence."""


def distilled(observations: Iterable[Observation], techniques: Sequence[Technique] = ()) -> list[Lesson]:
    """A proposed lesson for each technique and bottleneck that decisions take a side on, most decisions first.

    Args:
        observations: of ``memory/evidence.py``.
        techniques: pages whose first sentences explain the short names.
    """
    pages = {name: page for page in techniques for name in page.names}
    agreed: dict[tuple[str, str, bool], list[Observation]] = {}
    for (technique, bottleneck, _), items in _cells(observations).items():
        direction = _direction(items)
        if direction is not None:
            agreed.setdefault((technique, bottleneck, direction), []).extend(items)
    lessons = [_lesson(key, items, pages.get(key[0])) for key, items in agreed.items()]
    return sorted(lessons, key=lambda x: (-x.evidence.n - x.evidence.failures, x.id))


def _cells(observations: Iterable[Observation]) -> dict[tuple[str, str, str], list[Observation]]:
    cells: dict[tuple[str, str, str], list[Observation]] = {}
    for item in observations:
        if item.over == "baseline" and item.gain is not None and item.source.startswith("solution:"):
            continue  # a ladder's first rung: where it begins, no choice that was made for its speed
        cells.setdefault((item.technique, item.bottleneck, item.family), []).append(item)
    return cells


def _direction(items: Sequence[Observation]) -> bool | None:
    """False: decisions speak for it, True: against it, None: they do not say. A kernel counts once, as in the rules."""
    steps = [o for o in items if o.gain is None or o.over == "parent"]
    counting = steps if any(o.gain for o in steps) else items
    votes = {(o.child or o.source, side(o, warns=False), o.gain is not None and o.over == "baseline") for o in counting}
    pro = sum(said == "supporting" for _, said, _ in votes)
    con = sum(said == "contradicting" for _, said, _ in votes)
    if pro == 0 and 0 < con < LEAST_REFUSALS and all(o.gain is None for o in items):
        return None
    if con > pro:
        warning = sum(said == "contradicting" and not whole for _, said, whole in votes)
        return True if warning > pro else None
    return None if pro == con else False


def _lesson(key: tuple[str, str, bool], items: Sequence[Observation], page: Technique | None) -> Lesson:
    technique, bottleneck, warns = key
    scope = LessonScope(
        families=_named(o.family for o in items),
        devices=_named(o.device for o in items),
        languages=_named(o.language for o in items),
        bottlenecks=(bottleneck,) if bottleneck else (),
    )
    kind = "parent" if any(o.gain and o.over == "parent" for o in items) else "baseline"
    evidence = counted([o for o in items if o.over == kind or o.gain is None], warns=warns)
    said = f"{technique} ({_gloss(page)})" if page else technique
    work = " or ".join(filter(None, (", ".join(scope.families[:-1]), *scope.families[-1:])))
    when = f"{'an' if work[:1] in 'aeiou' else 'a'} {work} kernel is made faster"
    when += f" and {BOUND_BY[bottleneck]}" if bottleneck in BOUND_BY else ""
    middle = "not-for" if warns else "for"
    return Lesson(
        id=f"{technique}-{middle}-{bottleneck or 'anything'}".lower().replace("_", "-")[:80],
        when=when,
        technique=technique,
        scope=scope,
        evidence=evidence,
        origin=ORIGIN,
        do="" if warns else f"use {said}",
        avoid=f"{said}; {_troubles(evidence.failures, evidence.n)}" if warns else "",
    )


def _gloss(page: Technique) -> str:
    """What the technique does, in the first sentence of its page."""
    text = " ".join(re.split(r"(?<=[.!?])\s+(?=[A-Z`])", page.what.strip())[0].rstrip(".").split())
    if len(text) > GLOSS_CHARACTERS:
        text = text[: max(text.rfind(mark, 0, GLOSS_CHARACTERS) for mark in (", ", "; ", ": "))] + " ..."
    first = text[:1].lower() if text[1:2].islower() or text[1:2] == " " else text[:1]
    return first + text[1:]


def _troubles(failures: int, slower: int) -> str:
    if failures and slower:
        return "it was refused by the judge or slower"
    return "what came of it was refused by the judge" if failures else "it was slower"


def _named(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({v for v in values if v}))
