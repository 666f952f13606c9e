"""A confirmed winner as a proposed library Solution: its chain of decisions becomes the ladder."""

from __future__ import annotations

import re

from kernelwright.agents.context import RunContext
from kernelwright.records import (
    Candidate,
    Decision,
    Directive,
    Evaluation,
    Provenance,
    Review,
    ReviewState,
    Rung,
    Solution,
)
from kernelwright.workspace import now


def solution_of(context: RunContext, winner: Candidate, evaluation: Evaluation) -> Solution:
    """The winner with the decisions that led to it, in state ``proposed``."""
    task = context.task
    chain = _chain(context, winner.id)
    rungs = []
    directives: tuple[Directive, ...] = ()
    for decision in chain:
        directives = (*directives, *decision.directives)
        child = context.folder.candidate(decision.child or winner.id)
        judged = context.best_evaluation(child.id)
        rungs.append(
            Rung(
                name=decision.technique,
                decision=decision.model_copy(update={"directives": directives}),
                candidate=child,
                latency_us={w.workload: w.latency_us for w in judged.workloads if w.latency_us}
                if judged
                else {},
                speedup=judged.speedup if judged else None,
                environment=judged.environment if judged else None,
                not_measured="" if judged and judged.speedup else "it did not pass on its own",
            )
        )
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
        applies=_applies(context, chain),
        rungs=tuple(rungs),
        provenance=Provenance(
            author="kernelwright run", source=f"run {context.folder.run_id}", created=now()[:10]
        ),
        licence=task.licence,
        review=Review(state=ReviewState.PROPOSED, reason="offered by a run; not yet reviewed"),
        origin="user",
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


def _applies(context: RunContext, chain: list[Decision]) -> dict[str, object]:
    """The matching block of the solution that the first decision adopted; {} when it came from the rules."""
    source = chain[0].source if chain else ""
    name = source.removeprefix("solution:").partition("#")[0]
    adopted = next((r.solution for r in context.recalled if r.solution.id == name), None)
    return dict(adopted.applies) if adopted is not None else {}
