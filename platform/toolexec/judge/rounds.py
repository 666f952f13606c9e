"""Interleaved rounds: every contestant on the same fresh inputs, in random order, one at a time, all outputs checked.

Owns the order of filling, timing, collecting and checking. Statistics lie in toolexec/statistics.py. Checking never
runs while a sample is taken: the judge is blocked in reading, all other workers are blocked in theirs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernelwright.records import Failure, Status
from kernelwright.toolexec.judge.calls import POISONS, check_intact, present, run_case
from kernelwright.toolexec.judge.cases import Case, CaseBook, Tally, check_outputs
from kernelwright.toolexec.judge.contestant import Contestant
from kernelwright.toolexec.judge.measured import Measured, SingleCalls
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.numerics import Closeness
from kernelwright.toolexec.precision import Array
from kernelwright.toolexec.statistics import StopRule

MAX_SLOTS = 200
MAX_SLOT_BYTES = 64 << 20
"""Inputs and outputs of all slots of one contestant; at least one slot is used whatever its size."""
SPOT_BYTES = 8 << 20
"""A call kept for a later comparison may hold so much."""
MAX_CHECKER_US = 50_000.0
"""The checking baseline runs every slot; the number of slots is cut so that it needs no longer than this."""
SLOW_FACTOR = 4.0
"""A baseline this much slower than the fastest contestant joins every SLOW_EVERY-th round only."""
SLOW_EVERY = 3
CPU_SLACK = 1.1
"""Processor time that all cores together may show, as a part of their wall time."""
CPU_SLACK_NS = 20_000
"""Processor time of one sample that is not counted."""
CPU_ODD_PART = 0.1
"""Part of the samples, those with the most, whose processor time is not looked at."""
SINGLE_BUDGET_US, SINGLE_LEAST = 500_000.0, 3
"""Long calls are taken on their own as often as this time allows, but so often at least."""
SINGLE_PAUSES_S = (0.0, 0.0, 0.0, 0.1, 0.2, 0.4)
"""Suspicious single calls are taken again after these pauses: a busy moment passes, carried work stays."""
ALIKE_CASES = 4
"""Processes that have made fewer calls with a result catch up with the others, up to so many."""


@dataclass(frozen=True)
class RoundPlan:
    """How much to measure."""

    stop: StopRule
    sample_us: float
    """Calls are looped until a sample takes about this long."""
    spot_checks: int
    """Timed calls whose outputs are compared with float64, chosen at random."""
    singles: int = 0
    """Samples of one call at a time, for comparison with the looped ones; 0 means none."""


class Rounds:
    """One measuring of a candidate beside baselines at one workload.

    Args:
        candidate: what is judged.
        baselines: what it is compared with; the first decides when to stop.
        checker: the baseline whose outputs every timed output is compared with; None: all go to float64.
        book: cases, fresh inputs and expected values.
        rng: the judge's generator.
    """

    def __init__(
        self,
        candidate: Contestant,
        baselines: Sequence[Contestant],
        *,
        checker: Contestant | None,
        book: CaseBook,
        rng: np.random.Generator,
        tally: Tally,
    ) -> None:
        self.candidate = candidate
        self.baselines = list(baselines)
        self.checker = checker
        self.book = book
        self.guards = book.guards
        self.rng = rng
        self.tally = tally
        self.closeness: list[Closeness] = []
        self.weights_seed: int | None = None
        self._everyone = [candidate, *self.baselines]
        if checker is not None and checker not in self._everyone:
            self._everyone.append(checker)
        self._estimate: dict[str, float] = {}
        self._spots: list[tuple[list[Array], list[Array]]] = []
        self._staged: list[list[Array]] = []
        self._used: list[tuple[int, int]] = []

    def check_case(self, case: Case) -> None:
        """Run the candidate on one correctness case.

        Raises:
            Rejection, WorkerFailure: it is wrong, or failed.
        """
        run_case(self.candidate, case, self.book, self.rng, self.tally)

    def _accompany(self, contestant: Contestant, case: Case) -> None:
        """Let it make the call that the candidate made. What a process allocated before decides where its results lie
        from then on: where only the candidate's made such calls, it looked 2 to 6 % faster than itself."""
        contestant.cases += 1
        present(contestant, [case.inputs], self.guards, int(self.rng.choice(POISONS)))
        contestant.go()
        contestant.collect([0], copy=False)

    def _catch_up(self) -> None:
        """Before anything is timed, processes that are new have all made equally many calls with a result."""
        enough = min(ALIKE_CASES, max(c.cases for c in self._everyone))
        for contestant in self._everyone:
            while contestant.cases < enough:
                (case,) = self.book.cases(("as-is",), None)
                contestant.ensure_slots(1)
                if contestant is self.candidate:
                    run_case(contestant, case, self.book, self.rng, self.tally)
                else:
                    self._accompany(contestant, case)

    def run(self, plan: RoundPlan, pending: Iterator[Case], *, clock: Callable[[], float] = time.monotonic) -> Measured:
        """Measure.

        Args:
            plan: how much.
            pending: correctness cases to mix in at random places; used up.
            clock: seconds.

        Raises:
            Rejection, WorkerFailure: the candidate failed on the way.
        """
        self._catch_up()
        slots = self._warm_up(plan)
        measured = Measured(
            [self.candidate.name, *(b.name for b in self.baselines)],  # a checker beside them is compared with nobody
            {c.name: [] for c in self._everyone},
            {c.name: [] for c in self._everyone},
            slots=slots,
        )
        fastest = min(self._estimate.values())
        start, rounds, self._ran_on = clock(), 0, self.candidate.ran_on()
        chance = min(1.0, plan.spot_checks / max(plan.stop.min_rounds, 1))
        deciding = [b.name for b in self.baselines[:1]]
        while True:
            self._one_round(plan, measured, rounds, fastest, spot=self.rng.random() < chance)
            rounds += 1
            if self.rng.random() < 0.5 and (case := next(pending, None)) is not None:
                self.check_case(case)
                for contestant in self._everyone[1:]:
                    if contestant in self.baselines[:1] or self._estimate[contestant.name] <= SLOW_FACTOR * fastest:
                        self._accompany(contestant, case)
            logs = [measured.logs(self.candidate.name, b) for b in deciding]
            if plan.stop.enough(logs, rounds=rounds, elapsed_s=clock() - start):
                break
        for case in pending:
            self.check_case(case)
        self._check_processor()
        measured.extra_threads = self.candidate.extra_threads()
        self._singles(plan, measured)
        self._check_standstill()
        for inputs, outputs in self._spots:
            self._check_exactly(inputs, outputs)
        for contestant in self._everyone:
            contestant.forget()
        return measured

    def _warm_up(self, plan: RoundPlan) -> int:
        self._stage(1)
        for contestant in self._everyone:
            contestant.ensure_slots(1)
            contestant.calibrate()
            self._estimate[contestant.name] = contestant.one_call_ns(self._staged[0]) / 1000
        trips = [c.round_trip_ns for c in self._everyone if c.trusted] or [c.round_trip_ns for c in self._everyone]
        for contestant in self._everyone:  # one for all: how long waking up takes is the machine's mood, not theirs
            contestant.round_trip_ns = min(trips)
        slots = self._slot_count(plan)
        self._stage(slots)
        for contestant in self._everyone:
            count = self._calls(contestant, plan, slots)
            contestant.ensure_slots(count)
            present(contestant, self._staged[:count], self.guards)
            contestant.go()
        return slots

    def _slot_count(self, plan: RoundPlan) -> int:
        size = sum(a.nbytes for a in self._staged[0]) + sum(
            int(np.prod(t.shape, dtype=np.int64)) * 4 for t in self.candidate.spec.outputs
        )
        wanted = math.ceil(plan.sample_us / self._estimate[self.candidate.name])
        most = min(MAX_SLOTS, MAX_SLOT_BYTES // max(size, 1))
        if self.checker is not None:
            most = min(most, int(MAX_CHECKER_US / self._estimate[self.checker.name]))
        return max(1, min(wanted, most))

    def _calls(self, contestant: Contestant, plan: RoundPlan, slots: int) -> int:
        if self._in_full(contestant):
            return slots
        return max(1, min(slots, math.ceil(plan.sample_us / self._estimate[contestant.name])))

    def _in_full(self, contestant: Contestant) -> bool:
        """Does it run every slot of every round? An A/A control is treated as the process that it is compared with:
        fewer calls a sample would be a difference."""
        return contestant in (self.candidate, self.checker) or contestant.is_control

    def _stage(self, count: int) -> None:
        while len(self._staged) < count:
            self._staged.append([np.empty(f.shape, dtype=d.dtype) for f, d in
                                 zip(self.book.facts, self.book.draws[0], strict=True)])  # fmt: skip
        for slot in range(count):
            if self.guards.fresh_content:
                self.book.mixer.fill(self._staged[slot])
            else:
                for target, source in zip(self._staged[slot], self.book.draws[0], strict=True):
                    target[...] = source

    def _one_round(self, plan: RoundPlan, measured: Measured, number: int, fastest: float, *, spot: bool) -> None:
        self._stage(measured.slots)
        outputs: dict[str, list[list[Array]]] = {}
        order = [self._everyone[i] for i in self.rng.permutation(len(self._everyone))]
        for contestant in order:
            must = self._in_full(contestant)
            slow = self._estimate[contestant.name] > SLOW_FACTOR * fastest
            if slow and not must and contestant not in self.baselines[:1] and number % SLOW_EVERY:
                measured.samples[contestant.name].append(None)
                continue
            count = self._calls(contestant, plan, measured.slots)
            present(contestant, self._staged[:count], self.guards, int(self.rng.choice(POISONS)))
            elapsed = contestant.go() - contestant.round_trip_ns
            measured.samples[contestant.name].append(max(elapsed / count / 1000, 1e-3))
            if contestant is self.candidate:
                self._used.append((contestant.cpu_ns, elapsed + contestant.round_trip_ns))
                self._check_cores()
                if not number & (number - 1):  # rarely: it means looking at all processes
                    self._check_processes()
            if must and not self.guards.charge_collect:
                contestant.linger()
            found = [[np.array(a) for a in one] for one in contestant.collect(range(count), copy=False)]
            if must:
                outputs[contestant.name] = found
                measured.collect_us[contestant.name].append(contestant.collect_ns / count / 1000)
            self._read_back(contestant, count)
        self._check_round(outputs, spot=spot)

    def _read_back(self, contestant: Contestant, count: int) -> None:
        """Compare inputs with what was written: the candidate's to know, everybody else's because that decides in which
        core's caches they lie when they are written next. Where only one's were read, it looked up to a tenth faster
        than itself."""
        for slot in range(count):
            if contestant is self.candidate:
                check_intact(contestant, slot, self._staged[slot], self.book)
            else:
                contestant.intact(slot, self._staged[slot])
                contestant.fenced(slot)

    def _check_cores(self) -> None:
        if self.candidate.trusted or not self.guards.affinity:
            return
        strays = self.candidate.strays()
        if strays:
            self._reject("cores", f"it let itself run on cores {sorted(strays)}; it was given {self.candidate.cores}")

    def _check_processes(self) -> None:
        """What it started must stand still with it."""
        if not self.candidate.trusted and self.guards.freeze_idle and self.candidate.runs_on():
            self._reject("processes", "a process that it started left its process group and runs on in others' turns")

    def _check_standstill(self) -> None:
        """It worked neither in others' turns nor while its inputs were written; one odd moment accuses nobody."""
        times = self.candidate.ran_on() - self._ran_on
        if self.candidate.trusted or not self.guards.freeze_idle or times <= max(1, CPU_ODD_PART * len(self._used)):
            return
        self._reject("standing still", f"it worked {times} times while it was to stand still: something continues it")

    def _check_processor(self) -> None:
        """No more processor time than its threads have wall time. The worst tenth of the rounds, at least one, is left
        out: one odd moment of the machine accuses nobody, and help in so few rounds moves no median."""
        threads = self.candidate.spec.threads
        excess = sorted((cpu - CPU_SLACK * threads * wall - CPU_SLACK_NS, cpu, wall) for cpu, wall in self._used)
        kept = excess[: len(excess) - math.ceil(CPU_ODD_PART * len(excess))]
        if self.candidate.trusted or not self.guards.affinity or sum(over for over, _, _ in kept) <= 0:
            return
        part = sum(cpu for _, cpu, _ in kept) / max(sum(wall for _, _, wall in kept), 1)
        self._reject("processor time", f"it used {part:.2f} cores on average; {threads} were given to it")

    def _reject(self, check: str, message: str) -> None:
        raise Rejection(Status.CHEATED, Failure(check=check, message=message, workload=self.book.workload))

    def _check_round(self, outputs: dict[str, list[list[Array]]], *, spot: bool) -> None:
        mine = outputs[self.candidate.name]
        theirs = outputs.get(self.checker.name) if self.checker is not None else None
        chosen = int(self.rng.integers(len(mine))) if spot else -1
        for slot, arrays in enumerate(mine):
            if slot == chosen:
                self._spot(self._staged[slot], arrays)
            if self.candidate.trusted or not self.guards.check_timed:
                continue
            if theirs is not None and self._close(arrays, theirs[slot]):
                self.tally.checked_calls += 1
                continue
            self._check_exactly(self._staged[slot], arrays)

    def _spot(self, inputs: list[Array], outputs: list[Array]) -> None:
        """Compare a timed call with float64: at the end where it is small, at once where keeping it costs memory."""
        if sum(a.nbytes for a in [*inputs, *outputs]) > SPOT_BYTES:
            self._check_exactly(inputs, outputs)
        else:
            self._spots.append(([np.array(a) for a in inputs], outputs))

    def _check_exactly(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        expected = self.book.expect(inputs, self.weights_seed)
        check_outputs(outputs, expected, self.book, family="timed", tally=self.tally, inputs=inputs)

    def _close(self, mine: Sequence[Array], theirs: Sequence[Array]) -> bool:
        return all(c.holds(a, b) for c, a, b in zip(self.closeness, mine, theirs, strict=True))

    def _singles(self, plan: RoundPlan, measured: Measured) -> None:
        if measured.slots == 1:
            return  # every call was on its own
        pair = [self.candidate, *([self.checker] if self.checker else [])]
        affordable = int(SINGLE_BUDGET_US / (2 * sum(self._estimate[c.name] for c in pair)))
        for pause_s in (None, *SINGLE_PAUSES_S) if plan.singles else ():
            time.sleep(pause_s or 0.0)
            watch = self.checker if pause_s is not None else None
            self._single_calls(max(SINGLE_LEAST, min(plan.singles, affordable)), pair, measured, watch=watch)
            if self.checker is None:
                return
            extra, uncharged, _ = measured.carried_us(self.candidate.name, self.checker.name)
            if extra <= uncharged:
                return

    def _single_calls(
        self, count: int, pair: Sequence[Contestant], measured: Measured, *, watch: Contestant | None
    ) -> None:
        """Each call whose time is taken follows another one of the same contestant: others' turns push its code and its
        weights out of the caches, where a looped call finds them, and that is no work carried from call to call.

        Args:
            watch: whose looped calls are timed beside them once more, since the machine may be slower by now.
        """
        found = SingleCalls({c.name: [] for c in pair}, {c.name: [] for c in pair})
        for _ in range(count):
            if watch is not None:
                found.beside_us.append(self._looped_again(watch, measured.slots))
            self._stage(2)
            outputs: dict[str, list[list[Array]]] = {c.name: [] for c in pair}
            for contestant in [pair[i] for i in self.rng.permutation(len(pair))]:
                for inputs in self._staged[:2]:
                    present(contestant, [inputs], self.guards, int(self.rng.choice(POISONS)))
                    elapsed = contestant.go() - contestant.round_trip_ns
                    if not self.guards.charge_collect:
                        contestant.linger()
                    outputs[contestant.name].append([np.array(a) for a in contestant.collect([0], copy=False)[0]])
                found.us[contestant.name].append(max(elapsed / 1000, 1e-3))
                found.collect_us[contestant.name].append(contestant.collect_ns / 1000)
            self._check_round(outputs, spot=False)  # or it could leave out the work of the calls that tell it on
        measured.singles.append(found)

    def _looped_again(self, contestant: Contestant, slots: int) -> float:
        """Microseconds a call. The sample before it brings back what the candidate pushed out of the caches."""
        self._stage(slots)
        for _ in range(2):
            present(contestant, self._staged[:slots], self.guards)
            elapsed = contestant.go() - contestant.round_trip_ns
            contestant.collect(range(slots), copy=False)
        return max(elapsed / slots / 1000, 1e-3)
