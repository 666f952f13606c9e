"""Ways through the space of schedules by the cost model alone: greedy, beam and evolutionary search.

Owns which genomes are looked at next. Nothing here compiles or measures; what comes out is a ranked list of distinct
schedules, and `schedule_search.py` measures the best of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelwright.search.cost_model import CostModel
from kernelwright.search.features import features_of
from kernelwright.search.genomes import Genomes, GenomeSpace
from kernelwright.search.settling import Settled, settle

METHODS = ("greedy", "beam", "evolution", "random")
WIDTH, CHILDREN, GREEDY_CHILDREN = 24, 24, 192
"""States a beam keeps, children of each; children of the one state of greedy search."""
POPULATION = 192


@dataclass
class Ranked:
    """Distinct legal schedules, cheapest first."""

    genomes: Genomes
    keys: np.ndarray
    costs_ns: np.ndarray
    scored: int = 0
    """Schedules that were scored to find them, partial ones included."""

    def best(self, count: int) -> Ranked:
        """The first ones."""
        return Ranked(self.genomes[:count], self.keys[:count], self.costs_ns[:count], self.scored)


def ranked(space: GenomeSpace, model: CostModel, settled: Settled) -> Ranked:
    """Score settled schedules; equal ones once."""
    costs = model.cost_ns(features_of(space, settled))
    _, first = np.unique(settled.keys, return_index=True)
    order = first[np.argsort(costs[first], kind="stable")]
    return Ranked(settled.genomes[order], settled.keys[order], costs[order], len(costs))


def beam(
    space: GenomeSpace,
    model: CostModel,
    rng: np.random.Generator,
    *,
    width: int = WIDTH,
    children: int = CHILDREN,
    expired: Callable[[], bool] = lambda: False,
) -> Ranked:
    """Decide Func by Func from the output backwards, keeping the states that are cheapest so far.

    Args:
        space: of the pipeline.
        model: scores partial schedules.
        rng: draws the children.
        width: states that are kept.
        children: of each state at each Func.
        expired: says that time is over; what is left is then decided by one child a state.
    """
    funcs = space.table.funcs
    states = Ranked(space.plain(1), np.zeros(1, dtype=np.uint64), np.zeros(1))
    scored = 0
    for step in range(1, funcs + 1):
        each = 1 if expired() else -(-children * width // len(states.genomes))
        parents = states.genomes.repeat(each, axis=0)
        i = funcs - step
        plain = parents[::each, i].copy()
        space.redraw(rng, parents[:, i], i)
        parents[::each, i] = plain  # the plain way is always among them
        states = ranked(space, model, settle(space, _plain_rest(space, parents, i), rng, decided=step))
        scored += states.scored
        if step < funcs:
            states = states.best(width)
    states.scored = scored
    return states


def _plain_rest(space: GenomeSpace, genomes: Genomes, i: int) -> Genomes:
    """Funcs that are still to be decided begin plain."""
    genomes[:, :i] = space.plain(1)[:, :i]
    return genomes


def evolve(
    space: GenomeSpace,
    model: CostModel,
    rng: np.random.Generator,
    *,
    start: Genomes,
    generations: int = 12,
    population: int = POPULATION,
    expired: Callable[[], bool] = lambda: False,
) -> Ranked:
    """Mutate and cross the cheapest schedules.

    Args:
        space: of the pipeline.
        model: scores.
        rng: of all chances.
        start: genomes to begin with, any number; random ones fill the population.
        generations: rounds.
        population: schedules that live on.
        expired: says that time is over.
    """
    fresh = space.random(rng, max(population // 2, population - len(start)))
    living = ranked(space, model, settle(space, np.concatenate([start, fresh]), rng))
    scored = living.scored
    for _ in range(generations):
        if expired():
            break
        parents = living.best(population).genomes
        # The cheaper the likelier to have children.
        chances = np.exp(-3.0 * np.arange(len(parents)) / len(parents))
        first, second = (parents[rng.choice(len(parents), population, p=chances / chances.sum())] for _ in range(2))
        crossed = space.crossed(rng, first, second)
        half = population // 2
        children = np.concatenate([space.mutated(rng, crossed[:half]), space.mutated(rng, first[half:], changes=1.0)])
        settled = settle(space, np.concatenate([parents, children]), rng)
        living = ranked(space, model, settled).best(population)
        scored += len(children)
    living.scored = scored
    return living


def explore(
    space: GenomeSpace,
    model: CostModel,
    rng: np.random.Generator,
    *,
    method: str,
    start: Genomes | None = None,
    seconds: float = 5.0,
    clock: Callable[[], float] = time.monotonic,
) -> Ranked:
    """One exploration by a named method.

    Args:
        space: of the pipeline.
        model: scores.
        rng: of all chances.
        method: one of METHODS.
        start: genomes that evolution begins with; the others ignore it.
        seconds: time after which it comes to an end.
        clock: seconds; replaced in tests.

    Raises:
        ValueError: an unknown method.
    """
    end = clock() + seconds
    if method == "greedy":
        return beam(space, model, rng, width=1, children=GREEDY_CHILDREN, expired=lambda: clock() > end)
    if method == "beam":
        return beam(space, model, rng, expired=lambda: clock() > end)
    if method == "evolution":
        genomes = space.plain(1) if start is None else start
        return evolve(space, model, rng, start=genomes, expired=lambda: clock() > end)
    if method == "random":
        return ranked(space, model, settle(space, space.random(rng, POPULATION), rng))
    raise ValueError(f"unknown search method {method!r}; known: {', '.join(METHODS)}")
