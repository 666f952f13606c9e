"""What is proved of a candidate in processes of its own, with nothing timed: random weights, policy, hidden shapes.

Owns the order of these proofs. Each runs in a fresh process, so that none leaves anything behind for the timing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from kernelwright.records import Candidate, Status
from kernelwright.toolexec.judge.depths import Thoroughness
from kernelwright.toolexec.judge.hidden_shapes import (
    HiddenShape,
    HiddenShapes,
    agreed,
    claims_generality,
    verdict_of,
)
from kernelwright.toolexec.judge.judgement import Allowance, Bench, Outcome, hosted, prove
from kernelwright.toolexec.judge.policy import check_policy
from kernelwright.toolexec.judge.rejection import Rejection

TOO_EARLY = (
    "it is right with the weights that a fresh module has, wrong with others. Weights are loaded after construction: "
    "what packs, folds or looks at them belongs into prepare() (kw_prepare in C), not into __init__"
)


def prove_apart(
    bench: Bench, candidate: Candidate, artifact: Path, *, thorough: Thoroughness, allowance: Allowance
) -> Outcome:
    """What is proved in processes of its own, on random weights above all, and times nothing.

    Raises:
        Rejection: it did not pass.
    """
    outcome = Outcome(bench.workload)
    further = thorough.random_weights if bench.book.guards.random_weights else ()
    if further and (bench.described.parameters or thorough.fresh_cases):
        seed, weights = bench.draw_random_weights() if bench.described.parameters else (None, bench.weights)
        try:
            with hosted(bench, candidate, artifact, weights, allowance) as (contestant, _):
                bench.pool.refill(bench.role_of(candidate))  # the next process starts meanwhile
                tally = prove(bench, contestant, further, seed=seed, fresh=thorough.fresh_cases)
        except Rejection as rejection:
            raise explained(bench, candidate, artifact, rejection, allowance) from rejection
        outcome.tally.checked_calls += tally.checked_calls
    if thorough.random_weights:
        outcome.notes = further_checks(bench, candidate, artifact, thorough=thorough, allowance=allowance)
    return outcome


def explained(
    bench: Bench, candidate: Candidate, artifact: Path, rejection: Rejection, allowance: Allowance
) -> Rejection:
    """The same, with the likely reason where a candidate is wrong on random weights and right on the module's own."""
    if rejection.status is not Status.WRONG_VALUES or not bench.described.parameters:
        return rejection
    try:
        with hosted(bench, candidate, artifact, bench.weights, allowance) as (contestant, _):
            prove(bench, contestant, ("as-is",), seed=None, fresh=False)
    except Rejection:
        return rejection
    message = f"{rejection.failure.message}; {TOO_EARLY}"
    return Rejection(rejection.status, rejection.failure.model_copy(update={"message": message}))


def further_checks(
    bench: Bench, candidate: Candidate, artifact: Path, *, thorough: Thoroughness, allowance: Allowance
) -> tuple[str, ...]:
    """What is asked once of a candidate: is its kernel its own, is it right at shapes it was not told?

    Returns:
        What the Evaluation has to state.

    Raises:
        Rejection: it did not pass.
    """
    notes: list[str] = []
    everywhere = bench.first or thorough.fresh_cases
    if everywhere and bench.book.task.policy.own_kernel and bench.book.guards.policy:
        host = partial(hosted, bench, candidate, artifact, bench.weights, allowance)
        notes += check_policy(bench, candidate, artifact, lambda options: host(options=options))
    if not bench.first:
        return tuple(notes)
    if bench.book.reference.relations is None:
        ask_relations(bench)
    if bench.book.guards.hidden_shapes and claims_generality(candidate):
        notes += prove_hidden(bench, candidate, artifact, thorough=thorough, allowance=allowance)
    return tuple(notes)


def hidden_shapes(bench: Bench, *, thorough: bool) -> list[HiddenShape]:
    """The session's hidden shapes, made when first needed."""
    if bench.hidden is None:
        bench.hidden = HiddenShapes(bench.book.task, bench.book, bench.rng)
    return bench.hidden.shapes(thorough=thorough)


def ask_relations(bench: Bench) -> None:
    """Ask the reference for its relations, at a hidden shape where there is one: those are small."""
    shapes = hidden_shapes(bench, thorough=False)
    if shapes or not bench.book.large:
        (shapes[0].book if shapes else bench.book).ask_relations()
    else:
        bench.book.reference.relations = frozenset()


def prove_hidden(
    bench: Bench, candidate: Candidate, artifact: Path, *, thorough: Thoroughness, allowance: Allowance
) -> list[str]:
    """Prove a candidate at hidden shapes, each in a process of its own.

    Raises:
        Rejection: it was silently wrong at one, or crashed.
    """
    shapes = hidden_shapes(bench, thorough=thorough.fresh_cases)
    for shape in shapes:
        reference, name = bench.book.reference, shape.book.workload
        weights = reference.weights(name, None)
        there = replace(bench, book=shape.book, described=reference.described[name], weights=weights)
        try:
            with hosted(there, candidate, artifact, weights, allowance) as (contestant, _):
                bench.pool.refill(bench.role_of(candidate))
                prove(there, contestant, thorough.random_weights[:2], seed=None, fresh=thorough.fresh_cases)
        except Rejection as rejection:
            return [verdict_of(rejection, shape)]
    return [agreed(shapes)] if shapes else []
