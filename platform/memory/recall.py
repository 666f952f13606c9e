"""Recall: the solutions nearest to a task, with what matched and which of their assumptions do not hold.

Owns the ranking: structure (operators, family, dtypes, bottleneck), nearest descriptions and BM25, fused by their
ranks. It never looks at the task's name: the name decides only whether a precedent was made for this very task. Without
an index the structure ranks alone; a small library is ranked whole either way.
"""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from operator import is_not
from typing import Any

from kernelwright.errors import LibraryError, MissingTool
from kernelwright.memory.catalogue import Wanted
from kernelwright.memory.evidence import Evidence
from kernelwright.memory.fusion import diversified, reciprocal_ranks
from kernelwright.memory.index import Hit, Index
from kernelwright.memory.lexical import Bm25, words
from kernelwright.memory.library import Library
from kernelwright.memory.operators import coverage, names, overlap
from kernelwright.protocols import Recalled, TechniqueEvidence
from kernelwright.records import ReviewState, Solution, Task, TaskFacts, Technique
from kernelwright.tasks.derivation import torch_ops as reference_ops

OPS, FAMILY, LEXICAL, BOTTLENECK = 0.5, 0.2, 0.25, 0.05
"""Shares of the score; they add up to 1. Set by hand, and not fitted: the judged queries prove them."""
NAMED_OPS = 0.9
"""What operators that match by name alone (aliases, the reference's text) count against the exported graph's."""
LEXICAL_HALF = 6.0
"""A BM25 score that gives half of the lexical share."""
BROKEN = 0.8
"""Factor for each assumption that does not hold."""
LEAST = 0.05
"""Solutions below this share nothing worth a mention with the task."""
CHANNELS = {"structure": 3.0, "description": 1.0, "words": 0.5}
"""Weights of the ranks. A task's exported graph says more than any text about it, so structure leads."""
NO_OPERATOR = "no operator in common"
"""Said of a solution that shares family or words only."""
RANKED_WHOLE = 300
"""Libraries up to this many entries are ranked whole; of larger ones, what the index puts forward."""
FORWARD = 100
"""Entries that the index puts forward."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Query:
    """A task in the terms of the ranking."""

    task: Task
    exported: frozenset[str]
    """Canonical operators of the exported graph; empty where it could not be exported."""
    referenced: frozenset[str]
    """Canonical operators that the reference's text names."""
    ops: frozenset[str]
    """Both, and the task's aliases."""
    dtypes: tuple[str, ...]
    """Of the inputs that are computed with: the floating ones where there are any."""
    words: tuple[str, ...]
    bottleneck: str


class LibraryRecall:
    """The Recall of protocols.py, over a library's files."""

    def __init__(
        self,
        library: Library,
        evidence: Evidence | None = None,
        *,
        unmet: Callable[[Solution, TaskFacts], Sequence[str]] = lambda solution, facts: (),
        states: Collection[ReviewState] = (ReviewState.PROMOTED,),
        index: Index | None = None,
    ) -> None:
        """
        Args:
            library: where solutions come from; looked at anew on every recall.
            evidence: what decisions bought; None answers with none.
            unmet: the conditions of a solution (shape, layout, number of dimensions) that a task does not meet,
                in words. What reads and evaluates them lies above this room and is handed in.
            states: review states that are recalled.
            index: nearest descriptions and BM25 over code; None, or one that cannot be used, leaves structure alone.
        """
        self.library = library
        self.index = index
        self._unmet = unmet
        self._evidence = evidence
        self._states = frozenset(states)
        self._words: tuple[list[Solution], Bm25] | None = None
        self._pages: list[Technique] | None = None

    def recall(
        self,
        task: Task,
        facts: TaskFacts,
        *,
        languages: Sequence[str],
        bottleneck: str = "",
        exclude_same_task: bool = False,
        limit: int = 8,
        only: Wanted | None = None,
    ) -> list[Recalled]:
        """The nearest solutions, best first; equal scores in order of id.

        Args:
            task: what precedents are sought for.
            facts: its operators, dtypes and shapes.
            languages: only these; () means any.
            bottleneck: solutions that address it are preferred; "" means unknown.
            exclude_same_task: leave out what was made for this very task. General recipes stay.
            limit: at most so many.
            only: further conditions that solutions must meet; None means none.
        """
        query, only = _query(task, facts, bottleneck), only or Wanted()
        hits = self._hits(query, languages, only)
        found: dict[str, Recalled] = {}
        broken: dict[str, int] = {}
        solutions = self._candidates(hits)
        lexical = self._lexical(solutions)
        for solution in solutions:
            same = is_same_task(solution, task)
            if solution.review.state not in self._states or (languages and solution.language not in languages):
                continue
            if (same and exclude_same_task) or not only.keeps(solution):
                continue
            unmet = tuple(self._unmet(solution, facts))
            judged = _judge(query, solution, lexical.score(solution.id, query.words), unmet=unmet)
            if judged.score >= LEAST:
                told = ("made for this very task", *judged.reasons) if same else judged.reasons
                found[solution.id] = Recalled(solution, round(judged.score, 6), tuple(told), same)
                broken[solution.id] = judged.broken + (NO_OPERATOR in judged.reasons)
        ranked = sorted(found.values(), key=lambda r: (-r.score, r.solution.id))
        return _spread(_fused(ranked, hits, broken) if hits else ranked, limit)

    def techniques(
        self,
        task: Task,
        recalled: Sequence[Recalled],
        *,
        languages: Sequence[str],
        bottleneck: str = "",
        limit: int = 6,
    ) -> list[Technique]:
        """Pages of knowledge that fit the task, what was recalled for it, and the bottleneck; best first.

        Args:
            task: what they are sought for.
            recalled: what :meth:`recall` found for it.
            languages: only pages for these; () means any.
            bottleneck: of the current profile; "" means unknown.
            limit: at most so many.
        """
        from kernelwright.memory.answers import fitting_pages, similar_families  # they ask a recall themselves
        from kernelwright.memory.knowledge_pages import load_techniques

        if self._pages is None:
            self._pages = load_techniques()[0]
        families = similar_families(task, recalled)
        found = fitting_pages(
            self._pages, task, recalled, families=families, languages=languages, bottleneck=bottleneck
        )
        return [answer.technique for answer in found[:limit]]

    def evidence(
        self, *, family: str, bottleneck: str = "", language: str = "", without: Task | None = None
    ) -> list[TechniqueEvidence]:
        """What decisions bought on tasks of this family, most evidence first; "" leaves a condition open.

        Args:
            family: of the tasks.
            bottleneck: that the decisions addressed.
            language: of the kernels.
            without: a task whose own solutions do not count; None counts all.
        """
        if self._evidence is None:
            return []
        own = self.sources_of(without) if without is not None else set()
        return self._evidence.techniques(family=family, bottleneck=bottleneck, language=language, without=own)

    def sources_of(self, task: Task) -> set[str]:
        """The solutions that were made for this very task, as evidence names them."""
        return {f"solution:{s.id}" for s in self.library.solutions if is_same_task(s, task)}

    def _hits(self, query: _Query, languages: Sequence[str], only: Wanted) -> list[Hit]:
        """What the index finds; [] where there is none. A broken index costs this channel, never a run."""
        if self.index is None:
            return []
        try:
            self.index.sync(self.library)
            states = [s.value for s in sorted(self._states)]
            wanted = replace(only, languages=[str(v) for v in languages] or only.languages, states=states)
            text = f"{task_prose(query.task)} {query.task.family}"
            return self.index.search(text, ops=query.ops, wanted=wanted, limit=FORWARD)
        except (LibraryError, MissingTool) as error:
            log.warning("recall goes on without the index: %s", error)
            self.index = None
            return []

    def _candidates(self, hits: Sequence[Hit]) -> list[Solution]:
        """All solutions of a small library, else those that the index put forward."""
        if not hits or self.index is None or self.index.catalogue.count("solution") <= RANKED_WHOLE:
            return self.library.solutions
        read = (self.library.look_up(hit.id) for hit in hits)
        return [solution for solution in read if isinstance(solution, Solution)]

    def _lexical(self, solutions: list[Solution]) -> Bm25:
        known = self._words[0] if self._words else []
        # The library gives the same objects back until an entry changes.
        if self._words is None or len(known) != len(solutions) or any(map(is_not, known, solutions)):
            self._words = (solutions, Bm25({s.id: solution_text(s) for s in solutions}))
        return self._words[1]


def _fused(ranked: Sequence[Recalled], hits: Sequence[Hit], broken: dict[str, int]) -> list[Recalled]:
    """Structure's order and the index's channels as one, assumptions that do not hold counted."""
    rankings = {"structure": [r.solution.id for r in ranked]}
    for channel in ("description", "words"):
        placed = [(h.ranks[channel], h.id) for h in hits if channel in h.ranks and h.id in broken]
        rankings[channel] = [id for _, id in sorted(placed)]
    by_id = {r.solution.id: r for r in ranked}
    fused = []
    for item in reciprocal_ranks(rankings, CHANNELS):
        told = ", ".join(f"{channel} #{rank}" for channel, rank in item.ranks.items())
        old = by_id[item.key]
        score = round(item.score * BROKEN ** broken[item.key], 6)
        fused.append(Recalled(old.solution, score, (*old.reasons, f"ranks: {told}"), old.same_task))
    return sorted(fused, key=lambda r: (-r.score, r.solution.id))


def _spread(found: Sequence[Recalled], limit: int) -> list[Recalled]:
    """The best so many, copies of better ones moved down."""
    return diversified(found, score=lambda r: r.score, alike=_alike, limit=limit)


def _alike(one: Recalled, other: Recalled) -> bool:
    """Whether the second solution does the same work in the same language by the same techniques."""
    a, b = one.solution, other.solution
    same = (a.language, a.family) == (b.language, b.family)
    return same and [r.decision.technique for r in a.rungs] == [r.decision.technique for r in b.rungs]


def recorded(recalled: Sequence[Recalled]) -> list[dict[str, Any]]:
    """A recall as it is kept in a run's recalls.jsonl: plain data, best first; [] is worth a curator's look."""
    return [
        {
            "id": r.solution.id,
            "origin": r.solution.origin,
            "review": r.solution.review.state.value,
            "score": r.score,
            "reasons": list(r.reasons),
            "same_task": r.same_task,
        }
        for r in recalled
    ]


def is_same_task(solution: Solution, task: Task) -> bool:
    """True when the solution was made for this task: the names agree but for case and punctuation."""
    return bool(solution.task) and _plain_name(solution.task) == _plain_name(task.name)


def _plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower().removesuffix(".py")).strip("_")


def solution_text(solution: Solution) -> str:
    """What of a solution is searched for words: neither its id nor the task it was made for."""
    rungs = [f"{r.decision.technique} {r.decision.summary}" for r in solution.rungs]
    return " ".join([solution.title, solution.description, solution.family, *solution.torch_ops, *rungs])


def task_prose(task: Task) -> str:
    """What of a task is embedded: its description and aliases. Never its name."""
    return f"{task.description} {', '.join(task.torch_ops)}"


def task_text(task: Task) -> str:
    """What of a task is searched for: description, aliases, identifiers of the reference. Never its name."""
    return " ".join([task.description, *task.torch_ops, *_identifiers(task.reference)])


def _identifiers(source: str) -> list[str]:
    tree = _parsed(source)
    found = [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    found += [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
    return sorted(set(found))


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def _query(task: Task, facts: TaskFacts, bottleneck: str) -> _Query:
    inputs = facts.workloads[0].of_kind("input") if facts.workloads else ()
    dtypes = tuple(dict.fromkeys(i.dtype for i in inputs)) or tuple(dict.fromkeys(i.dtype for i in task.inputs))
    floating = tuple(d for d in dtypes if "float" in d)
    exported = names(facts.ops) if facts.workloads else frozenset()
    referenced = names(reference_ops(_parsed(task.reference)))
    return _Query(
        task=task,
        exported=exported,
        referenced=referenced,
        ops=exported | referenced | names(task.torch_ops),
        dtypes=floating or dtypes,
        words=tuple(words(task_text(task))),
        bottleneck=bottleneck,
    )


@dataclass(frozen=True)
class _Judged:
    """A solution by its structure and words."""

    score: float
    reasons: list[str]
    broken: int
    """Assumptions that do not hold."""


def _judge(query: _Query, solution: Solution, lexical: float, *, unmet: tuple[str, ...]) -> _Judged:
    """Score of a solution, and why."""
    ops, reasons = _operators(query, solution)
    score = OPS * ops + LEXICAL * lexical / (lexical + LEXICAL_HALF)
    if solution.family == query.task.family and solution.family != "unknown":
        score += FAMILY
        reasons.append(f"same family: {solution.family}")
    rungs = [r.name or r.decision.technique for r in solution.rungs if r.decision.bottleneck == query.bottleneck]
    if query.bottleneck and rungs:
        score += BOTTLENECK
        reasons.append(f"addresses the {query.bottleneck} bottleneck: {', '.join(rungs)}")
    broken = [*_broken_assumptions(query, solution), *unmet]
    if score >= LEAST and solution.not_for:
        reasons.append(f"not for: {solution.not_for}")
    return _Judged(score * BROKEN ** len(broken), reasons + broken, len(broken))


def _operators(query: _Query, solution: Solution) -> tuple[float, list[str]]:
    """How well the operators agree, 0 to 1: by the exported graph or by names, whichever says more."""
    forms, aliases = _forms(solution), names(solution.torch_ops)
    exported = max((overlap(query.exported, form) for form in forms), default=0.0)
    named = max(
        coverage(query.exported, aliases),
        coverage(query.referenced, aliases),
        *(overlap(query.referenced, form) for form in forms),
    )
    shared = sorted(query.ops & aliases.union(*forms))
    reasons = [f"operators in common: {', '.join(shared)}"] if shared else [NO_OPERATOR]
    return max(exported, NAMED_OPS * named), reasons


def _forms(solution: Solution) -> list[frozenset[str]]:
    """The graphs a solution is made for, as sets of canonical operators: ``ops_any``, else ``ops``."""
    applies = solution.applies
    forms = applies.get("ops_any") or [applies.get("ops")]
    return [form for form in (names(_strings(f)) for f in forms) if form]


def _broken_assumptions(query: _Query, solution: Solution) -> list[str]:
    """The assumptions of a solution on operators and dtypes that do not hold for the task, in words."""
    broken = []
    forms = _forms(solution)
    lacking = sorted((sorted(form - query.ops) for form in forms), key=lambda ops: (len(ops), ops))
    if lacking and lacking[0]:
        broken.append(f"does {', '.join(lacking[0])}, which the task does not")
    foreign = [d for d in query.dtypes if solution.dtypes and d not in solution.dtypes]
    if foreign:
        broken.append(f"written for {', '.join(solution.dtypes)}, the task has {', '.join(foreign)}")
    return broken


def _strings(value: Any) -> list[str]:
    """A name or names as YAML may give them; nested lists are read through."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple):
        return [name for item in value for name in _strings(item)]
    return []
