"""The profiler node's work on one candidate: screen, tune, judge in full, profile. All through the one judge."""

from __future__ import annotations

import time

from kernelwright.agents.context import RunContext
from kernelwright.errors import KernelwrightError
from kernelwright.protocols import TuningBudget
from kernelwright.records import Candidate, Decision, Depth, Entry, Evaluation, Ratio, Trial

WORTH_A_FULL_JUDGEMENT = 0.8
"""A screened speed-up below this share of the best so far is not judged in full."""

WORTH_TUNING = 0.4
"""A screened speed-up below this share of the best so far is not tuned: tunables rarely buy more."""

AMPLE = 0.5
"""While so much of the run's time is left, values that screens cannot tell apart are judged in full."""


def judge_candidate(
    context: RunContext, candidate: Candidate, best_score: float
) -> tuple[Candidate, Evaluation]:
    """Screen a candidate, tune it where it declares tunables, judge it in full where it may win, and profile it.

    Returns:
        The candidate at its best tunables and its most thorough evaluation.
    """
    began = time.perf_counter()
    profile_s = 0.0
    context.judged.clear()
    context.show("doing", f"screening {candidate.id[:8]}")
    evaluation = context.evaluate(candidate, Depth.SCREEN)
    if evaluation.passed and _can_be_tuned(context, candidate) and _score(evaluation) >= WORTH_TUNING * best_score:
        what = ", ".join(t.name for t in candidate.tunables) or "the schedule"
        context.show("doing", f"tuning {what} of {candidate.id[:8]}")
        candidate = _tune(context, candidate)
        evaluation = context.evaluate(candidate, Depth.SCREEN)
    worth_it = evaluation.passed and _score(evaluation) >= WORTH_A_FULL_JUDGEMENT * best_score
    if worth_it and not context.ending():
        context.show("doing", f"judging {candidate.id[:8]} in full")
        evaluation = context.evaluate(candidate, Depth.FULL)
        if evaluation.speedup is not None and evaluation.speedup.disturbed and not context.ending():
            evaluation = context.measured_again(candidate, evaluation)
        if evaluation.passed:
            profile_s = _profile(context, candidate, evaluation)
    _tell_timing(context, candidate, time.perf_counter() - began, profile_s)
    return candidate, evaluation


def _tell_timing(context: RunContext, candidate: Candidate, total_s: float, profile_s: float) -> None:
    """Own time is what neither building nor measuring took, per candidate: tuned variants are candidates too.

    Profiling counts as measuring where something is counted for it.
    """
    build_s = sum(e.build_s for e in context.judged)
    measure_s = sum(e.measure_s for e in context.judged) + (profile_s if context.config.counts else 0.0)
    judged = max(1, len({e.candidate_id for e in context.judged}))
    context.emit(
        "timing",
        candidate=candidate.id,
        total_s=round(total_s, 4),
        build_s=round(build_s, 4),
        measure_s=round(measure_s, 4),
        judged=judged,
        own_s=round(max(0.0, total_s - build_s - measure_s) / judged, 5),
    )


def _can_be_tuned(context: RunContext, candidate: Candidate) -> bool:
    """It declares tunables, or is a pipeline whose schedule the run searches."""
    searched = candidate.entry is Entry.PIPELINE and context.config.search.schedule_measurements > 0
    return bool(candidate.tunables) or searched


def _score(evaluation: Evaluation) -> float:
    return evaluation.speedup.value if evaluation.speedup is not None else 0.0


def _tune(context: RunContext, candidate: Candidate) -> Candidate:
    """The candidate at the best tunables that the budget finds."""
    search = context.config.search
    measurements = min(search.tune_measurements, context.left_measurements)
    seconds = min(search.tune_seconds, context.left_s - context.reserve_s)
    if measurements == 0 or seconds <= 0 or context.ending():
        return candidate

    known = {t.candidate_id for t in context.folder.trials() if t.base_id == candidate.id}

    def screen(variant: Candidate) -> Evaluation:
        if context.stop.is_set():
            raise _Stopped("interrupted")
        if variant.id == candidate.id:
            return context.evaluate(variant, Depth.SCREEN)
        return context.evaluate(variant, Depth.SCREEN, base_id=candidate.id)

    def on_trial(trial: Trial) -> None:
        if trial.candidate_id not in known:
            context.folder.add_trial(trial)
        values = ", ".join(f"{k}={v}" for k, v in trial.values.items())
        context.emit("trial", f"{values}: {trial.status}", candidate=candidate.id, score=trial.score)

    def judge(variant: Candidate) -> Evaluation:
        if context.stop.is_set():
            raise _Stopped("interrupted")
        if variant.id != candidate.id:
            context.folder.add_candidate(variant)
        return context.evaluate(variant, Depth.FULL)

    thorough = judge if context.left_s > AMPLE * context.config.budget.seconds else None
    budget = TuningBudget(measurements=measurements, seconds=seconds)
    try:
        tuned = context.roles.tuner.tune(
            candidate, screen=screen, budget=budget, seed=context.config.seed, on_trial=on_trial, judge=thorough
        )
    except _Stopped:
        return candidate
    if tuned.id != candidate.id:
        context.folder.add_candidate(tuned)
    return tuned


class _Stopped(KernelwrightError):
    """The user interrupted a tuning."""

    code = "stopped"


def _profile(context: RunContext, candidate: Candidate, evaluation: Evaluation) -> float:
    """Profile a candidate that was not profiled yet; seconds it took."""
    began = time.perf_counter()
    if context.config.profile and context.folder.profile(candidate.id) is None:
        context.show("doing", f"profiling {candidate.id[:8]}")
        context.folder.save_profile(context.session.profile(candidate, evaluation))
    return time.perf_counter() - began


def against_parent(
    context: RunContext, decision: Decision, child: Candidate, evaluation: Evaluation
) -> Decision:
    """The decision with its child, and with its gain over the parent where there is one and it could be measured.

    What was judged in full is measured side by side with its parent. What was only screened, because it cannot win, is
    compared through the baseline that both were measured beside.
    """
    changes: dict[str, object] = {"child": child.id}
    if decision.parent and decision.parent != child.id and evaluation.passed:
        if evaluation.depth is Depth.SCREEN:
            parents = context.best_evaluation(decision.parent)
            gain = _through_baseline(evaluation, parents) if parents is not None else None
        else:
            gain = _side_by_side(context, child, context.folder.candidate(decision.parent))
        if gain is not None:
            changes["measured"] = gain
    return decision.model_copy(update=changes)


def _side_by_side(context: RunContext, child: Candidate, parent: Candidate) -> Ratio | None:
    """The steadier of at most two comparisons; the second, with more pairs, where the first failed or was disturbed."""
    found: Ratio | None = None
    for depth in (Depth.SCREEN, Depth.FULL):
        if context.ending() or (found is not None and not found.disturbed):
            break
        context.show("doing", f"measuring {child.id[:8]} beside its parent {parent.id[:8]}")
        ratio = context.session.compare(child, parent, depth=depth).speedup
        context.update(measurements=context.summary.measurements + 1)
        if ratio is not None and (found is None or ratio.high / ratio.low < found.high / found.low):
            found = ratio
    return found


def _through_baseline(child: Evaluation, parent: Evaluation) -> Ratio | None:
    """The gain over a parent from both gains over one baseline; the interval holds both uncertainties in full."""
    mine, theirs = child.speedup, parent.speedup
    if mine is None or theirs is None or mine.against != theirs.against:
        return None
    return Ratio(
        value=mine.value / theirs.value,
        low=mine.low / theirs.high,
        high=mine.high / theirs.low,
        pairs=min(mine.pairs, theirs.pairs),
        against=parent.candidate_id,
    )
