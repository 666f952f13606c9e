"""The candidate and its best baseline again, each time both in fresh processes: what a process's luck decides.

Owns starting, proving and timing these pairs at one workload. What the numbers mean is verdict.py's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from kernelwright.records import Candidate
from kernelwright.toolexec.judge.baselines import BaselineSet, Built, NotMeasured
from kernelwright.toolexec.judge.contestant import CONTROL, Contestant
from kernelwright.toolexec.judge.depths import Thoroughness
from kernelwright.toolexec.judge.judgement import (
    Allowance,
    Bench,
    Outcome,
    finish,
    hosted,
    measure,
    prove,
    twice_where_it_may_be_luck,
)

AT_LEAST = 2
"""Further pairs that are measured however long they take; more only within BUDGET_S."""
BUDGET_S = 30.0
"""At one workload. A baseline that takes long to come up, torch.compile, gets fewer pairs and a wider interval."""

Partner = Callable[[], AbstractContextManager[Contestant]]
"""Starts a fresh process of the baseline."""


@contextmanager
def in_pairs(baselines: BaselineSet, name: str, workload: str) -> Iterator[Callable[[], Built]]:
    """Fresh processes of a baseline, started two at a time: each imports torch, on one core, for seconds. Both are up
    and stand still before the first is handed out, so nothing starts while something is timed.

    Args:
        baselines: who starts them.
        name: which baseline.
        workload: at which workload.

    Yields:
        What gives the next one; to be ended by who got it. One that nobody asked for is ended here.
    """
    waiting: list[Built] = []

    def fresh() -> Built:
        if waiting:
            return waiting.pop()
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(baselines.second_process, name, workload)
            try:
                first = baselines.second_process(name, workload)
            finally:
                with suppress(NotMeasured):  # the next call says so, should it stay that way
                    waiting.append(coming.result())
        return first

    try:
        yield fresh
    finally:
        for built in waiting:
            baselines.stop_built(built)


def measure_again(
    bench: Bench,
    candidate: Candidate,
    artifact: Path,
    *,
    thorough: Thoroughness,
    partner: Partner,
    first: Contestant | None,
    peer: Contestant | None,
    allowance: Allowance,
) -> list[Outcome]:
    """Measure pair after pair of fresh processes. The baseline's process of the pair before is the A/A control.

    Args:
        bench: the workload's bench.
        candidate: what is judged.
        artifact: what its build gave.
        thorough: the depth; says how many pairs and how much in each.
        partner: starts the baseline afresh.
        first: the baseline's process that was measured before, where it still lives.
        peer: who stands beside the candidate as the checker; None means the baseline itself.
        allowance: the time that each of the candidate's processes has.

    Raises:
        Rejection: the candidate did not pass in one of them.
    """
    found: list[Outcome] = []
    before = first
    kept = ExitStack()
    start = time.monotonic()

    def attempt() -> tuple[Outcome, Contestant, ExitStack]:
        fresh, mine = ExitStack(), ExitStack()
        with ExitStack() as undo:
            undo.push(fresh)
            undo.push(mine)
            host = hosted(bench, candidate, artifact, bench.weights, allowance)
            outcome = Outcome(bench.workload)
            if len(found) % 2:  # who touches its memory first gets other pages: each in half of the pairs
                contestant, _ = mine.enter_context(host)
                outcome.tally = prove(bench, contestant, thorough.families[:2], seed=None, fresh=False)
                rival = fresh.enter_context(partner())
            else:
                rival, contestant = _side_by_side(fresh, partner, mine, host)
                outcome.tally = prove(bench, contestant, thorough.families[:2], seed=None, fresh=False)
            if before is not None:
                before.name = rival.name + CONTROL
            _time_pair(outcome, bench, candidate, contestant, thorough, rival, before, peer or rival)
            mine.close()
            undo.pop_all()
        return outcome, rival, fresh

    try:
        while len(found) < thorough.processes - 1:
            if len(found) >= AT_LEAST and time.monotonic() - start > BUDGET_S:
                break
            outcome, rival, fresh = twice_where_it_may_be_luck(attempt)
            found.append(outcome)
            kept.close()
            kept, before = fresh, rival
    finally:
        if first is not None:
            first.name = first.name.removesuffix(CONTROL)
        kept.close()
    return found


def _side_by_side(
    fresh: ExitStack,
    partner: Partner,
    mine: ExitStack,
    host: AbstractContextManager[tuple[Contestant, float | None]],
) -> tuple[Contestant, Contestant]:
    """Bring both up at once: each imports and compiles for seconds, on one core. Nothing is timed yet."""
    with ThreadPoolExecutor(1) as beside:
        coming = beside.submit(mine.enter_context, host)
        rival = fresh.enter_context(partner())
        return rival, coming.result()[0]


def _time_pair(
    outcome: Outcome,
    bench: Bench,
    candidate: Candidate,
    contestant: Contestant,
    thorough: Thoroughness,
    rival: Contestant,
    control: Contestant | None,
    checker: Contestant,
) -> None:
    assert thorough.again is not None
    outcome.measured = measure(
        bench,
        contestant,
        thorough=replace(thorough, plan=thorough.again),
        baselines=[rival, *([control] if control is not None else [])],
        checker=checker,
        families=(),
        tally=outcome.tally,
    )
    finish(outcome, candidate.id, checker, bench.book.guards)
