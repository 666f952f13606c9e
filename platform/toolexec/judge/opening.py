"""Opening a session: are the baselines right, how fast are they, which is the best?

Owns the first timing of the baselines. Their times rank them and go into the table; ratios are measured live later.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kernelwright.protocols import Progress
from kernelwright.records import Interval, Task
from kernelwright.toolexec.devices.cpu import available_gib, measuring_cores
from kernelwright.toolexec.judge.attention import attentive
from kernelwright.toolexec.judge.baselines import BaselineSet
from kernelwright.toolexec.judge.calls import run_case
from kernelwright.toolexec.judge.cases import CaseBook, Tally
from kernelwright.toolexec.judge.contestant import BaselineFailed
from kernelwright.toolexec.judge.device_lock import DeviceLock
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.judge.rounds import RoundPlan, Rounds
from kernelwright.toolexec.judge.standstill import pin_surely
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.statistics import StopRule, interval

PLAN = RoundPlan(StopRule(min_rounds=8, max_rounds=20, budget_s=2.0, width=0.03, check_every=4), 1000.0, 0)
FAMILIES = ("as-is", "outlier")
ROOM_GIB = 4.0
"""With less memory to spare, all but the best baseline end; a confirmation brings them up again, which takes longer."""


def open_baselines(
    task: Task,
    baselines: BaselineSet,
    books: Mapping[str, CaseBook],
    *,
    lock: DeviceLock,
    threads: int,
    rng: np.random.Generator,
    progress: Progress,
    meanwhile: Callable[[], None] = lambda: None,
    cores: Sequence[int] | None = None,
) -> None:
    """Build, prove and time all baselines, and record them. They stay up, standing still, where memory allows.

    Args:
        task: the task.
        baselines: what is asked for.
        books: workload -> its cases.
        lock: held while timing.
        threads: threads a kernel may use.
        rng: the judge's generator.
        progress: told of every row.
        meanwhile: done while the slow compilers work.
        cores: where their processes run; None means those for measuring on the processor.
    """
    names = baselines.build_all(baselines.wanted(), progress, meanwhile)
    names = [n for n in names if prove_baseline(n, baselines, books, rng)]
    times: dict[str, dict[str, Interval]] = {n: {} for n in names}
    measuring = measuring_cores(threads) if cores is None else cores  # before this thread leaves them
    with lock.held(progress), attentive(threads):
        for worker in baselines.workers():
            pin_surely(worker.pid, measuring)
        for workload, book in books.items():
            for name, found in time_baselines(names, baselines, book, rng).items():
                times[name][workload] = found
    weights = {w.name: w.weight for w in task.workloads}
    best = min(names, key=lambda n: mean_log(times[n], weights)) if names else ""
    for name in names:
        baselines.record(name, times[name], best=name == best)
        if name != best and available_gib() < ROOM_GIB:
            baselines.stop(name)
    for name in baselines.wanted():
        progress("baseline", baselines.records[name].to_json())


def prove_baseline(name: str, baselines: BaselineSet, books: Mapping[str, CaseBook], rng: np.random.Generator) -> bool:
    """Judge a baseline's results; one that is wrong is not measured, with the reason in its row.

    Returns:
        Is it right?
    """
    for workload, book in books.items():
        contestant = baselines.contestant(name, workload)
        try:
            for case in book.each(FAMILIES, None):
                run_case(contestant, case, book, rng, Tally())
        except (Rejection, WorkerFailure, BaselineFailed) as error:
            baselines.give_up(name, f"gives wrong results: {error}"[:300])
            return False
    return True


def time_baselines(
    names: Sequence[str], baselines: BaselineSet, book: CaseBook, rng: np.random.Generator
) -> dict[str, Interval]:
    """Times of all baselines at one workload, in interleaved rounds."""
    if not names:
        return {}
    contestants = [baselines.contestant(n, book.workload) for n in names]
    rounds = Rounds(contestants[0], contestants[1:], checker=None, book=book, rng=rng, tally=Tally())
    measured = rounds.run(PLAN, iter(()))
    return {n: interval(measured.times(n)) for n in names}


def mean_log(times: Mapping[str, Interval], weights: Mapping[str, float]) -> float:
    """Logarithm of the weighted geometric mean of medians."""
    total = sum(weights[w] for w in times)
    return sum(weights[w] * math.log(t.median) for w, t in times.items()) / total
