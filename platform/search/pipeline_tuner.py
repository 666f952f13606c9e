"""A Tuner that goes on where tunables end: after a pipeline's declared values, its schedule as a whole is searched.

Owns the order (tunables first, then schedules around what they gave) and the share of the budget. Schedules are found
by the cost model, which is fine-tuned on every screened one; ``screen`` judges them like any candidate. Candidates of
other languages pass through to the tuner of tunables alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from kernelwright.protocols import Tuner, TuningBudget
from kernelwright.records import Candidate, Directive, Entry, Evaluation, Trial
from kernelwright.records.pipeline import Pipeline
from kernelwright.search.cost_model import CostModel
from kernelwright.search.schedule_search import Measured, ScheduleSearch
from kernelwright.search.schedule_space import ALGORITHM, IMPORTED, candidate_of, concrete, pipelines_of
from kernelwright.search.tuner import CLOSE, NOISE

log = logging.getLogger(__name__)

PRECOMPUTED = "precompute"
"""A verb that splits the pipeline in two; such candidates keep their schedule."""


class PipelineTuner:
    """The Tuner of protocols.py for tunables and, for pipelines, schedules.

    Args:
        tunables: chooses values of declared tunables.
        measurements: most screened schedules for one candidate; 0 means that schedules are left alone.
        threads: threads that a kernel may use.
        method: how schedules are explored, one of exploring.METHODS.
        clock: seconds; replaced in tests.
    """

    def __init__(
        self,
        tunables: Tuner,
        *,
        measurements: int,
        threads: int = 1,
        method: str = "beam",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tunables, self._measurements, self._threads = tunables, measurements, threads
        self._method, self._clock = method, clock

    def tune(
        self,
        candidate: Candidate,
        *,
        screen: Callable[[Candidate], Evaluation],
        budget: TuningBudget,
        seed: int,
        on_trial: Callable[[Trial], None],
        judge: Callable[[Candidate], Evaluation] | None = None,
    ) -> Candidate:
        """The candidate at its best tunables, or under a schedule that is faster than those by more than noise."""
        part = self._for_tunables(candidate, budget)
        tuned = self._tunables.tune(
            candidate, screen=screen, budget=part, seed=seed, on_trial=on_trial, judge=judge
        )
        budget.spent_measurements += part.spent_measurements
        budget.spent_seconds += part.spent_seconds
        left = min(self._measurements, budget.measurements - budget.spent_measurements)
        seconds = budget.seconds - budget.spent_seconds
        if left < 2 or seconds <= 0 or tuned.entry is not Entry.PIPELINE:
            return tuned
        directives = concrete(tuned)
        if any(d.verb == PRECOMPUTED or d.verb.startswith("gpu_") for d in directives):
            return tuned
        screening = _Screening(tuned, screen, budget, on_trial, self._clock)
        searching = ScheduleSearch(
            screening.pipeline,
            screening.measure,
            model=CostModel.shipped(),
            method=self._method,
            threads=self._threads,
            seed=seed,
            seeds=[("current", directives)],
            clock=self._clock,
        )
        searching.run(seconds=seconds, measurements=left)
        return screening.winner(judge)

    def _for_tunables(self, candidate: Candidate, budget: TuningBudget) -> TuningBudget:
        """What is left of a budget when the share of schedules is kept back."""
        left = budget.measurements - budget.spent_measurements
        kept = min(self._measurements, left) if candidate.entry is Entry.PIPELINE else 0
        seconds = (budget.seconds - budget.spent_seconds) * (1 - kept / max(1, left))
        return TuningBudget(measurements=left - kept, seconds=seconds)


class _Screening:
    """Makes candidates of schedules, screens them, and remembers the best."""

    def __init__(
        self,
        start: Candidate,
        screen: Callable[[Candidate], Evaluation],
        budget: TuningBudget,
        on_trial: Callable[[Trial], None],
        clock: Callable[[], float],
    ) -> None:
        self.start, self._screen, self._budget = start, screen, budget
        self._on_trial, self._clock = on_trial, clock
        self._pipelines = pipelines_of(start, ALGORITHM)
        has_imported = any(f.path == IMPORTED for f in start.files)
        self._imported = pipelines_of(start, IMPORTED) if has_imported else None
        self._scores: list[tuple[float, Candidate]] = []
        """Of every schedule that passed; the first is that of the start, if it did."""

    @property
    def pipeline(self) -> Pipeline:
        """The algorithm at the first workload, whose schedule serves all."""
        return next(iter(self._pipelines.values()))

    def measure(self, directives: Sequence[Directive]) -> Measured:
        """Screen a schedule; the first call is the start's own."""
        first = not self._scores and directives == concrete(self.start)
        child = self.start
        if not first:
            child = candidate_of(self._pipelines, directives, imported=self._imported, tunables=())
        began = self._clock()
        evaluation = self._screen(child)
        seconds = self._clock() - began
        self._budget.spent_measurements += 1
        self._budget.spent_seconds += seconds
        score = evaluation.speedup.value if evaluation.passed and evaluation.speedup else None
        self._on_trial(
            Trial(
                candidate_id=child.id,
                base_id=self.start.id,
                status=evaluation.status,
                score=score,
                seconds=seconds,
                sampler="schedule",
            )
        )
        if score is None:
            return Measured(None, evaluation.status.value)
        self._scores.append((score, child))
        latency = evaluation.workloads[0].latency_us if evaluation.workloads else None
        return Measured(latency.median * 1e3 if latency else 1e6 / score, evaluation.status.value)

    def winner(self, judge: Callable[[Candidate], Evaluation] | None) -> Candidate:
        """The fastest, when it beats the start by more than noise. The fastest of many screens is the luckiest, too:
        near the start, both are judged again."""
        if not self._scores:
            return self.start
        score, best = max(self._scores, key=lambda pair: pair[0])
        own = next((s for s, c in self._scores if c.id == self.start.id), None)
        if own is None or best.id == self.start.id:
            return best
        near = score / own <= CLOSE and self._budget.spent_seconds < self._budget.seconds
        if judge is not None and near:
            score, own = self._surely(judge, best), self._surely(judge, self.start)
        return best if score > own * NOISE else self.start

    def _surely(self, judge: Callable[[Candidate], Evaluation], candidate: Candidate) -> float:
        """The speed-up that a thorough judgement is sure of; 0 where it does not pass."""
        began = self._clock()
        evaluation = judge(candidate)
        self._budget.spent_measurements += 1
        self._budget.spent_seconds += self._clock() - began
        return evaluation.speedup.surely if evaluation.passed and evaluation.speedup else 0.0
