"""A full answer of recall: solutions, decisions that addressed the bottleneck on similar tasks, techniques to read.

Owns what counts as a similar task and how a technique page is matched. Numbers come from ``evidence.py``, the ranking
of solutions from ``recall.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.memory.catalogue import Wanted
from kernelwright.memory.documents import Document
from kernelwright.memory.evidence import Evidence
from kernelwright.memory.lexical import words
from kernelwright.memory.recall import NO_OPERATOR, LibraryRecall, recorded
from kernelwright.protocols import Recalled, TechniqueEvidence
from kernelwright.records import Task, TaskFacts
from kernelwright.records.technique import Technique
from kernelwright.workspace import now

SIMILAR = 3
"""The families of so many nearest solutions count as similar to the task's own."""
RECALL_FORMAT = "kernelwright/recall/1"


@dataclass(frozen=True)
class Asked:
    """What a recall is asked for, besides the task; () and "" leave a condition open."""

    languages: Sequence[str] = ()
    families: Sequence[str] = ()
    """Of solutions; decisions and pages go by the task's own and similar ones."""
    device: str = ""
    """cpu or cuda: of solutions, decisions and pages."""
    dtype: str = ""
    """Solutions that hold for it, or for any."""
    bottleneck: str = ""
    """Of the task's current profile. Decisions must address it; solutions and pages that do are preferred."""
    exclude_same_task: bool = False
    """Leave out what was made for this very task, and what its decisions bought."""
    limit: int = 8
    """Of each kind of answer."""


@dataclass(frozen=True)
class DecisionAnswer:
    """A technique that was tried on similar tasks, with what it bought there."""

    evidence: TechniqueEvidence
    families: tuple[str, ...]
    """Of the tasks that counted as similar."""
    precedents: tuple[str, ...]
    """``solution#rung`` of recalled solutions that took this step."""


@dataclass(frozen=True)
class TechniqueAnswer:
    """A page worth reading."""

    technique: Technique
    why: tuple[str, ...]
    score: float


@dataclass(frozen=True)
class Answers:
    """What recall has to say on a task."""

    task: Task
    asked: Asked
    solutions: tuple[Recalled, ...]
    decisions: tuple[DecisionAnswer, ...]
    techniques: tuple[TechniqueAnswer, ...]

    @property
    def bottleneck(self) -> str:
        """What was asked for."""
        return self.asked.bottleneck

    @property
    def excluded_same_task(self) -> bool:
        """Whether what was made for this very task was left out."""
        return self.asked.exclude_same_task

    @property
    def same_task(self) -> bool:
        """Whether a precedent for this very task was recalled."""
        return any(r.same_task for r in self.solutions)

    @property
    def found_nothing(self) -> bool:
        """Whether a curator should look: nothing in common with any solution."""
        return not any(NO_OPERATOR not in r.reasons for r in self.solutions)

    def to_line(self) -> dict[str, Any]:
        """The recall as it is kept in recalls.jsonl."""
        asked = {k: list(v) if isinstance(v, tuple | list) else v for k, v in vars(self.asked).items()}
        return {
            "format": RECALL_FORMAT,
            "at": now(),
            "task": self.task.name,
            **asked,
            "found": recorded(self.solutions),
            "decisions": [d.evidence.technique for d in self.decisions],
            "techniques": [t.technique.id for t in self.techniques],
        }


def answer(
    recall: LibraryRecall,
    evidence: Evidence,
    pages: Sequence[Technique],
    task: Task,
    facts: TaskFacts,
    asked: Asked | None = None,
) -> Answers:
    """Ask all three memories about a task.

    Args:
        recall: the ranking of solutions.
        evidence: what decisions bought.
        pages: the technique pages.
        task, facts: what precedents are sought for.
        asked: the conditions; None means none.
    """
    asked = asked or Asked()
    solutions = recall.recall(
        task, facts, languages=asked.languages, bottleneck=asked.bottleneck, exclude_same_task=asked.exclude_same_task,
        limit=asked.limit, only=Wanted(families=asked.families, device=asked.device, dtype=asked.dtype),
    )  # fmt: skip
    families = similar_families(task, solutions)
    told = evidence.similar(
        families, bottleneck=asked.bottleneck, languages=asked.languages, device=asked.device,
        without=recall.sources_of(task) if asked.exclude_same_task else (),
    )  # fmt: skip
    decisions = [DecisionAnswer(e, families, _precedents(e.technique, solutions)) for e in told[: asked.limit]]
    techniques = fitting_pages(
        pages, task, solutions, families=families, languages=asked.languages, bottleneck=asked.bottleneck,
        device=asked.device,
    )  # fmt: skip
    return Answers(task, asked, tuple(solutions), tuple(decisions), tuple(techniques[: asked.limit]))


def similar_families(task: Task, solutions: Sequence[Recalled]) -> tuple[str, ...]:
    """The families of tasks that count as similar: its own, and those of the nearest solutions."""
    related = [r for r in solutions if NO_OPERATOR not in r.reasons][:SIMILAR]
    return tuple(dict.fromkeys([task.family, *(r.solution.family for r in related)]))


def _precedents(technique: str, solutions: Sequence[Recalled]) -> tuple[str, ...]:
    steps = [(r.solution.id, rung) for r in solutions for rung in r.solution.rungs]
    return tuple(f"{id}#{rung.name}" for id, rung in steps if rung.decision.technique == technique)[:3]


def fitting_pages(
    pages: Sequence[Technique],
    task: Task,
    solutions: Sequence[Recalled],
    *,
    families: Sequence[str],
    languages: Sequence[str],
    bottleneck: str,
    device: str = "",
) -> list[TechniqueAnswer]:
    """The pages that fit, best first: taken by recalled ladders, for this family, against this bottleneck.

    Args:
        pages: all there are.
        task: what they are sought for.
        solutions: what was recalled for it, best first.
        families: of the task and of similar ones.
        languages: only pages for these; () means any.
        bottleneck: of the current profile; "" means unknown.
        device: only pages for this kind; "" means any.
    """
    taken: dict[str, int] = {}
    for rank, recalled in enumerate(solutions, 1):
        for rung in recalled.solution.rungs:
            taken.setdefault(rung.decision.technique, rank)
    asked = set(words(task.description))
    found = []
    for page in pages:
        applies = page.applies_to
        if languages and applies.languages and not {str(v) for v in applies.languages} & set(languages):
            continue
        if device and applies.devices and device not in applies.devices:
            continue
        score, why = 0.0, []
        ranks = [taken[name] for name in page.names if name in taken]
        if ranks:
            score += 1.0 / min(ranks)
            why.append(f"taken by {solutions[min(ranks) - 1].solution.id}")
        if shared := [f for f in families if f in applies.families]:
            score += 0.5 if shared[0] == task.family else 0.25
            why.append(f"for {', '.join(shared)}")
        if bottleneck and bottleneck in page.bottlenecks:
            score += 0.5
            why.append(f"against the {bottleneck} bottleneck")
        elif bottleneck:
            score *= 0.5
        score += 0.02 * len(asked & set(words(f"{page.title} {page.what}")))
        if why:
            found.append(TechniqueAnswer(page, tuple(why), round(score, 4)))
    return sorted(found, key=lambda t: (-t.score, t.technique.id))


def technique_document(page: Technique) -> Document:
    """A page of techniques as the index holds it."""
    return Document(
        key=f"technique:{page.id}",
        text=f"{page.title}. {page.what} {page.when}",
        names=" ".join(words(f"{page.title} {' '.join(page.names)} {' '.join(page.bottlenecks)}")),
        body=" ".join(words(f"{page.what} {page.when} {page.in_profile} {page.risks}")),
        code=" ".join(dict.fromkeys(words(f"{page.before.text} {page.after.text}"))),
        fields={"title": page.title, "bottlenecks": list(page.bottlenecks), "families": list(page.applies_to.families)},
    )
