"""A confirmed winner as a proposed library Solution: its chain of decisions becomes the ladder.

Owns what goes with it: what else was tried at each step, and the licences of the solutions that its code goes back to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernelwright.agents.context import RunContext
from kernelwright.records import (
    Candidate,
    Decision,
    Depth,
    Evaluation,
    Provenance,
    Rejected,
    Review,
    ReviewState,
    Rung,
    Solution,
    Task,
)
from kernelwright.workspace import now

LOST = ("failed", "refuted")
"""Verdicts of decisions that came to nothing."""
MOST_REJECTED = 8
"""Of them that a rung names; a run's own files have all."""
MOST_CHARACTERS = 300
"""Of each: a model or the judge may have written more."""


def solution_of(context: RunContext, winner: Candidate, evaluation: Evaluation) -> Solution:
    """The winner with the decisions that led to it, in state ``proposed``."""
    task = context.task
    chain = _chain(context, winner.id)
    adopted = _adopted(context, chain)
    rungs: list[Rung] = []
    for decision in chain:
        whole = (*(rungs[-1].decision.directives if rungs else ()), *decision.directives)
        rungs.append(_rung(context, decision.model_copy(update={"directives": whole}), winner))
    slug = re.sub(r"[^a-z0-9]+", "-", task.name.lower()).strip("-")
    return Solution(
        id=f"{winner.language.value}-{slug}-{winner.id[:6]}",
        title=f"{task.name} in {winner.language.value}",
        description=task.description or f"Found by run {context.folder.run_id}",
        family=task.family,
        task=task.name,
        language=winner.language,
        entry=winner.entry,
        torch_ops=task.torch_ops,
        dtypes=tuple(dict.fromkeys(a.dtype for a in context.session.facts.workloads[0].of_kind("input"))),
        applies=_applies(chain, adopted),
        rungs=tuple(rungs),
        provenance=Provenance(
            author="kernelwright run", source=_source(context, adopted), created=now()[:10]
        ),
        licence=_licence(task, chain, adopted),
        review=Review(state=ReviewState.PROPOSED, reason="offered by a run; not yet reviewed"),
        origin="user",
    )


def _rung(context: RunContext, decision: Decision, winner: Candidate) -> Rung:
    """A step with what it led to; only what was judged in full states numbers, for the library's are evidence."""
    child = context.folder.candidate(decision.child or winner.id)
    judged = context.best_evaluation(child.id)
    known = judged if judged is not None and judged.depth is not Depth.SCREEN else None
    why = "it was only screened" if judged is not None and known is None else "it did not pass on its own"
    return Rung(
        name=decision.technique,
        decision=decision if known is not None else decision.model_copy(update={"measured": None}),
        candidate=child,
        rejected=_rejected(context, decision),
        latency_us={w.workload: w.latency_us for w in known.workloads if w.latency_us} if known is not None else {},
        speedup=known.speedup if known is not None else None,
        environment=known.environment if known is not None else None,
        not_measured="" if known is not None and known.speedup else why,
    )


def _chain(context: RunContext, winner_id: str) -> list[Decision]:
    """The decisions from the reference to the winner, first to last."""
    by_child = {d.child: d for d in context.folder.decisions() if d.child}
    chain: list[Decision] = []
    current: str | None = winner_id
    while current is not None and (decision := by_child.get(current)) is not None and decision not in chain:
        chain.append(decision)
        current = decision.parent
    return chain[::-1]


def _rejected(context: RunContext, decision: Decision) -> tuple[Rejected, ...]:
    """What else was tried from where a step started and came to nothing, newest first: it is kept with the step."""
    found: dict[str, Rejected] = {}
    for other in reversed(context.folder.decisions()):
        if other.parent == decision.parent and other.verdict in LOST and other.child != decision.child:
            why = other.learned or (f"measured {other.measured.value:.2f}x" if other.measured else str(other.verdict))
            what = f"{other.technique}: {other.summary}"[:MOST_CHARACTERS]
            found.setdefault(what, Rejected(what=what, why=" ".join(why.split())[:MOST_CHARACTERS]))
    return tuple(found.values())[:MOST_REJECTED]


def _solution_id(decision: Decision) -> str:
    """The solution that a decision starts from; "" when it starts from none."""
    named = decision.source.startswith("solution:")
    return decision.source.removeprefix("solution:").partition("#")[0] if named else ""


def _adopted(context: RunContext, chain: list[Decision]) -> dict[str, Solution]:
    """The solutions that the chain goes back to, by id; one that is on no shelf any more is left out."""
    wanted = dict.fromkeys(id for d in chain if (id := _solution_id(d)))
    known = {r.solution.id: r.solution for r in context.recalled}
    if wanted.keys() - known.keys():  # a run that goes on at its very end has recalled nothing in this process
        languages = [language.value for language in context.config.languages]
        again = context.roles.recall.recall(context.task, context.session.facts, languages=languages, limit=10_000)
        known |= {r.solution.id: r.solution for r in again}
    return {id: known[id] for id in wanted if id in known}


def _applies(chain: list[Decision], adopted: Mapping[str, Solution]) -> dict[str, object]:
    """The matching block of the solution that the first decision adopted; {} when it came from the rules."""
    first = adopted.get(_solution_id(chain[0])) if chain else None
    return dict(first.applies) if first is not None else {}


def _licence(task: Task, chain: list[Decision], adopted: Mapping[str, Solution]) -> str:
    """The task's licence and those of the code that was adapted: all of them hold. "" when one of them is not known."""
    if any((id := _solution_id(d)) and id not in adopted for d in chain):
        return ""
    found = dict.fromkeys([task.licence.strip(), *(s.licence.strip() for s in adopted.values())])
    if "" in found:
        return ""
    return " AND ".join(f"({one})" if len(found) > 1 and " OR " in one.upper() else one for one in found)


def _source(context: RunContext, adopted: Mapping[str, Solution]) -> str:
    """The run, and whose code it adapted."""
    told = [f"{s.id} by {s.provenance.author} ({s.provenance.source})" for s in adopted.values()]
    return "; adapted from ".join([f"run {context.folder.run_id}", *told])
