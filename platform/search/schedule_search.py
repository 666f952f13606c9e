"""Search that measures: explore by the model, measure the most promising, learn from it, go on.

Owns the loop, its budget, its memory (a JSON file from which it resumes) and the best so far. How a schedule is
compiled and timed is the caller's business: ``measure`` gets Directives and gives a time or the reason why there is
none; it must bound itself. A schedule that fails is counted and never measured again.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.records import Directive
from kernelwright.records.pipeline import Pipeline
from kernelwright.records.record import write_whole
from kernelwright.search.cost_model import CostModel, Sample
from kernelwright.search.exploring import METHODS, Ranked, explore, ranked
from kernelwright.search.features import features_of
from kernelwright.search.genome_directives import directives_of
from kernelwright.search.genome_reading import genome_of
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable

log = logging.getLogger(__name__)

FORMAT = "kernelwright/schedule_search/1"
ROUND = 6
"""Schedules measured in a round."""
FRESH_SHARE = 3
"""One in so many of a round is drawn from the middle of the ranking, to teach the model what it believes is slow."""
FAILED_AS = 4.0
"""A schedule that failed teaches the model as one so many times slower than the slowest."""
ELITE = 24
"""Fastest measured schedules that evolution begins with."""
TUNED_FROM = 6
"""Measurements from which the model is fine-tuned on."""


@dataclass(frozen=True)
class Measured:
    """What measuring a schedule gave."""

    ns: float | None
    """Time of a call; None when it failed."""
    status: str
    """``PASSED``, or a status that says how it failed."""
    detail: str = ""


Measure = Callable[[Sequence[Directive]], Measured]


@dataclass
class Point:
    """A measured schedule."""

    key: int
    genome: list[list[int]]
    """[] for a seed that is no genome."""
    directives: list[dict[str, Any]]
    ns: float | None
    status: str
    predicted_ns: float
    seconds: float
    """Since the search began, over all its sittings."""
    source: str


@dataclass
class SearchState:
    """All that a search remembers."""

    method: str
    seed: int
    points: list[Point] = field(default_factory=list)
    spent_s: float = 0.0
    scored: int = 0
    rounds: int = 0

    @property
    def best(self) -> Point | None:
        """The fastest that passed."""
        passed = [p for p in self.points if p.ns is not None]
        return min(passed, key=lambda p: p.ns or 0.0) if passed else None

    def best_within(self, seconds: float) -> Point | None:
        """The fastest that was measured in time: the last measurement may end after the budget."""
        return SearchState(self.method, self.seed, [p for p in self.points if p.seconds <= seconds]).best

    @property
    def invalid(self) -> dict[str, int]:
        """Status -> number of schedules that failed with it."""
        counts: dict[str, int] = {}
        for point in self.points:
            if point.ns is None:
                counts[point.status] = counts.get(point.status, 0) + 1
        return counts

    def curve(self) -> list[tuple[int, float, float]]:
        """Best so far: (measurement, seconds, nanoseconds) wherever it improved."""
        found, best = [], float("inf")
        for number, point in enumerate(self.points, start=1):
            if point.ns is not None and point.ns < best:
                best = point.ns
                found.append((number, point.seconds, best))
        return found

    def save(self, path: Path) -> None:
        """Write it whole or not at all."""
        write_whole(path, json.dumps({"format": FORMAT, **asdict(self)}))

    @staticmethod
    def load(path: Path) -> SearchState:
        """Read a search that was interrupted.

        Raises:
            ValueError: the file is no search.
        """
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.pop("format", None) != FORMAT:
            raise ValueError(f"{path} is not of format {FORMAT}")
        return SearchState(**{**data, "points": [Point(**p) for p in data["points"]]})


class ScheduleSearch:
    """A search over the schedules of one pipeline.

    Args:
        pipeline: the algorithm.
        measure: times a schedule; must bound its own time.
        model: where scores come from; it is copied and fine-tuned on what is measured.
        method: one of exploring.METHODS.
        threads: threads that a kernel may use.
        seed: of all chances.
        seeds: schedules by name to measure first (recalled ones, rules, Halide's autoschedulers): the portfolio.
        on_point: gets every measured schedule.
        state: what an earlier sitting left; None begins anew.
        clock: seconds; replaced in tests.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        measure: Measure,
        *,
        model: CostModel | None = None,
        method: str = "evolution",
        threads: int = 1,
        seed: int = 0,
        seeds: Sequence[tuple[str, Sequence[Directive]]] = (),
        on_point: Callable[[Point], None] = lambda point: None,
        state: SearchState | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"unknown search method {method!r}; known: {', '.join(METHODS)}")
        self.space = GenomeSpace(StageTable(pipeline), threads=threads)
        self.model = (model or CostModel.untrained()).copy()
        self.state = state or SearchState(method=method, seed=seed)
        self._measure, self._seeds, self._on_point, self._clock = measure, list(seeds), on_point, clock
        self._samples: list[Sample] = []
        self._seeded: list[np.ndarray] = []
        """Genomes nearest to the seeds that passed, to go on from."""
        self._known = {p.key for p in self.state.points if p.genome}
        self._save: Path | None = None
        self._begun = clock()
        self._relearn()

    def run(self, *, seconds: float, measurements: int, save: Path | None = None) -> SearchState:
        """Search until a budget is used up or nothing new is found.

        Args:
            seconds: of all sittings together.
            measurements: likewise.
            save: written after every measurement, to resume from; None keeps nothing.
        """
        self._save = save
        self._begun = self._clock() - self.state.spent_s
        left = lambda: measurements - len(self.state.points)  # noqa: E731
        for name, directives in self._seeds:
            if left() <= 0 or self._elapsed() >= seconds:
                break
            if not any(p.source == name for p in self.state.points):
                self._note(directives, source=name)
        if left() > 0 and not any(p.source == "plain" for p in self.state.points):
            plain = ranked(self.space, self.model, settle(self.space, self.space.plain(1), np.random.default_rng(0)))
            self._measure_genome(plain, 0, source="plain")  # so that there is always something that works
        idle = 0
        while left() > 0 and self._elapsed() < seconds and idle < 3:
            before = len(self.state.points)
            self._round(min(ROUND, left()), seconds)
            idle = idle + 1 if len(self.state.points) == before else 0
        self.state.spent_s = self._elapsed()
        if save is not None:
            self.state.save(save)
        return self.state

    def best_directives(self) -> list[Directive]:
        """The fastest schedule; [] when none passed."""
        best = self.state.best
        return [Directive.model_validate(d) for d in best.directives] if best else []

    def _elapsed(self) -> float:
        return self._clock() - self._begun

    def _round(self, count: int, seconds: float) -> None:
        """Explore, measure the most promising that are new, learn."""
        rng = np.random.default_rng([self.state.seed, self.state.rounds])
        method = self.state.method
        if method == "beam" and self.state.rounds % 2:
            method = "evolution"  # around what the beam and the measurements found
        found = explore(self.space, self.model, rng, method=method, start=self._elite(), seconds=max(0.5, seconds / 20))
        self.state.rounds += 1
        self.state.scored += found.scored
        for row in self._chosen(found, count):
            if self._elapsed() >= seconds:
                break
            self._measure_genome(found, row, source=method)
        if len(self._samples) >= TUNED_FROM:
            self.model.fit(self._samples, epochs=8, batch=16, seed=self.state.rounds)

    def _chosen(self, found: Ranked, count: int) -> list[int]:
        new = [row for row, key in enumerate(found.keys.tolist()) if key not in self._known]
        middle = max(1, count // FRESH_SHARE)
        best = new[: max(1, count - middle)]
        rest = new[len(best) :]
        return best + rest[:: max(1, len(rest) // middle)][: count - len(best)]

    def _elite(self) -> np.ndarray:
        """Genomes of the fastest measured schedules, and those nearest to the seeds."""
        passed = sorted((p for p in self.state.points if p.ns is not None and p.genome), key=lambda p: p.ns or 0.0)
        rows = [np.array(p.genome, dtype=np.int32) for p in passed[:ELITE]] + self._seeded
        return np.array(rows, dtype=np.int32) if rows else self.space.plain(1)

    def _measure_genome(self, found: Ranked, row: int, *, source: str) -> None:
        settled = settle(self.space, found.genomes[row : row + 1], np.random.default_rng(0))
        directives = directives_of(self.space, settled, 0)
        self._known.add(int(found.keys[row]))
        point = self._note(
            directives,
            source=source,
            key=int(found.keys[row]),
            genome=found.genomes[row].tolist(),
            predicted_ns=float(found.costs_ns[row]),
        )
        self._learn(point)

    def _note(
        self,
        directives: Sequence[Directive],
        *,
        source: str,
        key: int = 0,
        genome: list[list[int]] | None = None,
        predicted_ns: float = 0.0,
    ) -> Point:
        measured = self._measure(directives)
        point = Point(
            key=key,
            genome=genome or [],
            directives=[d.model_dump(mode="json") for d in directives],
            ns=measured.ns,
            status=measured.status,
            predicted_ns=predicted_ns,
            seconds=self._elapsed(),
            source=source,
        )
        self.state.points.append(point)
        self._on_point(point)
        self._remember_seed(point)
        if measured.ns is None:
            log.info("a schedule failed: %s %s", measured.status, measured.detail[:200])
        self.state.spent_s = point.seconds
        if self._save is not None:
            self.state.save(self._save)  # a measurement takes seconds: none is made twice
        return point

    def _relearn(self) -> None:
        """Learn again from what an earlier sitting measured."""
        for point in self.state.points:
            self._remember_seed(point)
            if point.genome:
                self._learn(point)
        if len(self._samples) >= TUNED_FROM:
            self.model.fit(self._samples, epochs=8 * max(1, self.state.rounds), batch=16)

    def _remember_seed(self, point: Point) -> None:
        """Keep the genome nearest to a schedule that is none itself."""
        if not point.genome and point.ns is not None:
            directives = [Directive.model_validate(d) for d in point.directives]
            self._seeded.append(genome_of(self.space, directives)[0])

    def _learn(self, point: Point) -> None:
        """Remember a measured schedule; one that failed counts as slow, so that the search leaves its surroundings."""
        # Of what passed alone: the label of one failure must not be the measure of the next.
        timed = [p.ns for p in self.state.points if p.ns is not None]
        slow = max(timed, default=point.predicted_ns) * FAILED_AS
        genome = np.array([point.genome], dtype=np.int32)
        features = features_of(self.space, settle(self.space, genome, np.random.default_rng(0)))
        self._samples.append(Sample(features.terms[0], features.facts, slow if point.ns is None else point.ns))
