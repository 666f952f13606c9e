"""The tuner: chooses values of a candidate's declared tunables by screening, under a budget.

Owns which point is screened next and which one wins. It must not judge: ``screen`` does, and a point that fails is
data. Small spaces are tried whole; large ones by steps to neighbours of the best point, in turn with Optuna's TPE
(Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS 2011) and with children of the fastest points.
Screens are quick and rough: points that they cannot tell apart are judged again, more thoroughly, before one wins.
"""

from __future__ import annotations

import itertools
import logging
import math
import random
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from kernelwright.protocols import TuningBudget
from kernelwright.records import Candidate, Evaluation, Trial, Tunable

log = logging.getLogger(__name__)

Point = tuple[int, ...]
"""A place in the space: for each tunable the position of its value in the domain."""

NOISE = 1.01
"""Screened speed-ups nearer than this ratio are not told apart, and the declared default stays."""
CLOSE = 1.03
"""Screened speed-ups within this factor of the best are not told apart by screens."""
FAILURES_TO_PRUNE = 2
"""A value with so many failures and no success is not tried again."""
STARTUP = 5
"""Points that TPE wants to have seen before it models them."""
MUTATION = 0.4
"""Share of bred points with one value drawn anew."""
REPEATS = 8
"""How often TPE or breeding may name a point that was screened before another way is taken."""


class Space:
    """The finite domains of a candidate's tunables, and what was seen in them."""

    def __init__(self, tunables: tuple[Tunable, ...]) -> None:
        self.tunables = tunables
        self.sizes = tuple(len(t.values) for t in tunables)
        self.default: Point = tuple(t.values.index(t.value) for t in tunables)
        self.scores: dict[Point, float | None] = {}
        """Screened point -> speed-up; None where it failed or has no time."""
        self._passes: dict[tuple[int, int], int] = {}
        self._failures: dict[tuple[int, int], int] = {}

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(self.sizes)

    @property
    def best(self) -> Point | None:
        """The fastest screened point; the earlier one where two are equal."""
        return next(iter(self.ranked()), None)

    def ranked(self) -> list[Point]:
        """Points that were timed, fastest first; the earlier one of two that are equal."""
        timed = [(score, -order, p) for order, (p, score) in enumerate(self.scores.items()) if score is not None]
        return [p for _, _, p in sorted(timed, reverse=True)]

    def values(self, point: Point) -> dict[str, Any]:
        """Tunable -> value at a point."""
        return {t.name: t.values[i] for t, i in zip(self.tunables, point, strict=True)}

    def note(self, point: Point, score: float | None, *, passed: bool) -> None:
        """Remember what screening gave."""
        self.scores[point] = score
        counts = self._passes if passed else self._failures
        for item in enumerate(point):
            counts[item] = counts.get(item, 0) + 1

    def pruned(self, point: Point) -> bool:
        """True when a value of this point has only ever failed, and more than once."""
        return any(
            self._failures.get(item, 0) >= FAILURES_TO_PRUNE and not self._passes.get(item) for item in enumerate(point)
        )

    def fresh(self, point: Point) -> bool:
        """True when the point was not screened and nothing speaks against it."""
        return point not in self.scores and not self.pruned(point)

    def neighbours(self, point: Point) -> Iterator[Point]:
        """Points one step away in one tunable, upwards first."""
        for axis, size in enumerate(self.sizes):
            for step in (1, -1):
                if 0 <= point[axis] + step < size:
                    yield (*point[:axis], point[axis] + step, *point[axis + 1 :])

    def bred(self, chances: random.Random) -> Point | None:
        """A fresh child of two of the fastest points, now and then with one value drawn anew; None when there is none.

        Genetic search as OpenTuner has it among its techniques (Ansel et al., PACT 2014).
        """
        timed = sorted(((s, p) for p, s in self.scores.items() if s is not None), reverse=True)
        parents = [p for _, p in timed[: max(2, len(timed) // 2)]]
        for _ in range(REPEATS if len(parents) > 1 else 0):
            first, second = chances.sample(parents, 2)
            child = [chances.choice(pair) for pair in zip(first, second, strict=True)]
            if chances.random() < MUTATION:
                axis = chances.randrange(len(child))
                child[axis] = chances.randrange(self.sizes[axis])
            if self.fresh(tuple(child)):
                return tuple(child)
        return None

    def all_points(self) -> Iterator[Point]:
        """Every point."""
        return itertools.product(*(range(size) for size in self.sizes))

    def from_default(self) -> list[Point]:
        """Every point, the nearest to the default first. Only for spaces small enough to be tried whole."""
        return sorted(
            self.all_points(),
            key=lambda p: (sum(abs(a - b) for a, b in zip(p, self.default, strict=True)), p),
        )


class OptunaTuner:
    """The Tuner of protocols.py. The same seed and the same scores give the same points in the same order."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            clock: seconds; replaced in tests.
        """
        self._clock = clock
        # Importing it takes a fifth of a second, which passes unseen while a session waits for its compilers.
        threading.Thread(target=import_module, args=("optuna",), name="import-optuna").start()

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
        """Screen points until the space or the budget is used up.

        The declared default comes first. No point is screened twice. A space of no more points than the budget has
        measurements is tried whole. A value that only ever fails is given up.

        Args:
            candidate: with tunables; one without comes back at once.
            screen: judges a candidate at depth ``screen``. What it raises ends the tuning: the set-up is broken.
            budget: its ``spent_`` fields are counted up.
            seed: of every random choice.
            on_trial: gets each screened point.
            judge: judges more thoroughly: asked of the fastest point and its rival (the default, where it is near)
                where screens cannot tell them apart; None lets screens decide.

        Returns:
            The candidate at the fastest values when they beat the default by more than noise, else ``candidate``.
        """
        space = Space(candidate.tunables)
        if space.size <= 1:
            return candidate
        points = self._points(space, budget, seed)
        while budget.spent_measurements < budget.measurements and budget.spent_seconds < budget.seconds:
            point, sampler = next(points, (None, ""))
            if point is None:
                break
            trial = self._try(candidate, space, point, screen=screen, budget=budget)
            on_trial(trial.model_copy(update={"sampler": sampler}))
        return self._winner(candidate, space, judge, budget)

    def _try(
        self,
        candidate: Candidate,
        space: Space,
        point: Point,
        *,
        screen: Callable[[Candidate], Evaluation],
        budget: TuningBudget,
    ) -> Trial:
        child = candidate.with_tunables(space.values(point))
        start = self._clock()
        evaluation = screen(child)
        seconds = self._clock() - start
        budget.spent_measurements += 1
        budget.spent_seconds += seconds
        score = evaluation.speedup.value if evaluation.passed and evaluation.speedup else None
        space.note(point, score, passed=evaluation.passed)
        return Trial(
            candidate_id=child.id,
            base_id=candidate.id,
            values=space.values(point),
            status=evaluation.status,
            score=score,
            seconds=seconds,
        )

    def _winner(
        self,
        candidate: Candidate,
        space: Space,
        judge: Callable[[Candidate], Evaluation] | None,
        budget: TuningBudget,
    ) -> Candidate:
        best, default = space.best, space.scores.get(space.default)
        if best is None or best == space.default:
            return candidate
        close = [p for p in space.ranked() if (space.scores[p] or 0.0) * CLOSE >= (space.scores[best] or 0.0)]
        if judge is not None and len(close) > 1 and budget.spent_seconds < budget.seconds:
            rival = space.default if space.default in close else close[1]
            return self._final(candidate, space, (best, rival), judge=judge, budget=budget)
        if default is not None and (space.scores[best] or 0.0) / default <= NOISE:
            return candidate
        return candidate.with_tunables(space.values(best))

    def _final(
        self,
        candidate: Candidate,
        space: Space,
        points: Sequence[Point],
        *,
        judge: Callable[[Candidate], Evaluation],
        budget: TuningBudget,
    ) -> Candidate:
        """The best of a few points by a more thorough judgement; the first of them where none of it passes."""
        found: list[tuple[float, Candidate]] = []
        for point in points:
            child = candidate.with_tunables(space.values(point))
            start = self._clock()
            evaluation = judge(child)
            budget.spent_seconds += self._clock() - start
            budget.spent_measurements += 1
            if evaluation.passed and evaluation.speedup is not None:
                found.append((evaluation.speedup.surely, child))
        own = next((score for score, child in found if child.id == candidate.id), None)
        first = candidate.with_tunables(space.values(points[0]))
        score, best = max(found, key=lambda pair: pair[0], default=(0.0, first))
        return candidate if own is not None and score / own <= NOISE else best

    @staticmethod
    def _points(space: Space, budget: TuningBudget, seed: int) -> Iterator[tuple[Point, str]]:
        """Points to screen, each with the way it was found; looks at the scores of those before it."""
        left = budget.measurements - budget.spent_measurements
        if space.size <= left:
            for point in space.from_default():
                yield point, "default" if point == space.default else "grid"
            return
        yield space.default, "default"
        tpe, chances = _Tpe(space, seed), random.Random(seed)
        for turn in itertools.count():
            near = next(filter(space.fresh, space.neighbours(space.best or space.default)), None)
            if near is not None and turn % 2 == 0:
                yield near, "neighbour"
                continue
            bred = space.bred(chances) if turn % 4 == 3 else None
            if bred is not None:
                yield bred, "genetic"
                continue
            sampled = tpe.ask()
            if sampled is None:
                return
            yield sampled, "tpe"


class _Tpe:
    """Optuna's sampler over the positions in the domains, which come in order, so that near means alike."""

    def __init__(self, space: Space, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        self._space = space
        self._random = random.Random(seed)
        self._told: set[Point] = set()
        self._names = [t.name for t in space.tunables]
        self._distributions = {
            t.name: (
                optuna.distributions.CategoricalDistribution(tuple(range(len(t.values))))
                if any(isinstance(v, str) for v in t.values)
                else optuna.distributions.IntDistribution(0, len(t.values) - 1)
            )
            for t in space.tunables
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=STARTUP)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)

    def ask(self) -> Point | None:
        """A point that was not screened; None when there is none left."""
        self._tell()
        for _ in range(REPEATS):
            trial = self._study.ask(self._distributions)
            point = tuple(int(trial.params[name]) for name in self._names)
            # The sampler learns of every point from _tell(), so that a repeated one is not counted twice.
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            if self._space.fresh(point):
                return point
        return self._any()

    def _tell(self) -> None:
        states = self._optuna.trial.TrialState
        for point, score in self._space.scores.items():
            if point in self._told:
                continue
            self._told.add(point)
            params = dict(zip(self._names, point, strict=True))
            # PRUNED without a value ranks below every value: a failed point is a place to keep away from.
            state = states.PRUNED if score is None else states.COMPLETE
            self._study.add_trial(
                self._optuna.trial.create_trial(
                    state=state, value=score, params=params, distributions=self._distributions
                )
            )

    def _any(self) -> Point | None:
        """A random fresh point; the first in order where few are left."""
        for _ in range(64):
            point = tuple(self._random.randrange(size) for size in self._space.sizes)
            if self._space.fresh(point):
                return point
        return next(filter(self._space.fresh, self._space.all_points()), None)
