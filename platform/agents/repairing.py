"""Mending what the judge refused: at most so many tries, each stored and judged like any candidate.

Where the run's device cannot tell what is wrong with a GPU kernel, the repairer is shown what the emulator found.
"""

from __future__ import annotations

from kernelwright.agents.context import RunContext
from kernelwright.agents.knowledge import knowledge_of
from kernelwright.agents.likeness import fingerprint
from kernelwright.agents.llm.desk import LimitReached
from kernelwright.agents.profiler import judge_candidate
from kernelwright.agents.second_look import second_look
from kernelwright.agents.state import RunState
from kernelwright.records import Candidate, Decision, Depth, Entry, Evaluation, Status

HOPELESS = frozenset({Status.REFERENCE_BROKEN, Status.UNJUDGED, Status.UNSTABLE})
"""Nothing that a change of the sources would mend."""


def judge_with_repairs(
    context: RunContext, decision: Decision, candidate: Candidate, state: RunState
) -> tuple[Candidate, Evaluation]:
    """Judge a candidate; as long as it is refused and tries are left, have it mended and judge that.

    Returns:
        The last candidate that was judged, at its best tunables, and its most thorough evaluation.
    """
    best = _best_before(context, decision)
    final, evaluation = judge_candidate(context, candidate, best)
    repairer = context.roles.repairer
    if repairer is None or candidate.entry is Entry.PIPELINE or decision.source == "search":
        return final, evaluation
    seen = {fingerprint(final)}
    for attempt in range(1, context.config.models.repairs + 1):
        if evaluation.passed or context.ending():
            break
        shown = second_look(context, final, evaluation) or evaluation
        if shown.status in HOPELESS:
            break
        check = shown.failure.check if shown.failure is not None else ""
        told = f"{shown.status} ({check}): repair {attempt} of {context.config.models.repairs}"
        context.emit("repair", told, decision=decision.id, candidate=final.id, status=shown.status.value)
        try:
            mended = repairer.repair(knowledge_of(context, state), decision, final, shown, attempt=attempt)
        except LimitReached:
            break
        if mended is None or fingerprint(mended) in seen:
            break
        seen.add(fingerprint(mended))
        context.folder.add_candidate(mended)
        final, evaluation = judge_candidate(context, mended, best)
    return final, evaluation


def _best_before(context: RunContext, decision: Decision) -> float:
    """The best speed-up when this decision's turn came, by which its child is judged in full or not.

    A process that was killed may have noted the child itself as the best; the one that goes on must decide as it did.
    """
    best = context.summary.best
    if decision.child is not None and decision.child == context.summary.best_candidate:
        others = [d.child for d in context.folder.decisions() if d.child is not None and d.id != decision.id]
        judged = [context.best_evaluation(child) for child in others]
        ratios = [e.speedup for e in judged if e is not None and e.depth is not Depth.SCREEN and context.counts(e)]
        best = max((r for r in ratios if r is not None), key=lambda ratio: ratio.surely, default=None)
    return best.value if best is not None else 0.0
