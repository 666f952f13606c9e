"""One kernel in one worker, as the rounds see it: arm, fill slots, go, collect.

Owns where a kernel's inputs, outputs and weights lie in its worker's arena, and that the worker stands still whenever
the judge does not wait for it. The judge compares elsewhere.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.toolexec.devices.cpu import allowed_cores, measuring_cores
from kernelwright.toolexec.guards import ALL, Guards
from kernelwright.toolexec.judge import standstill
from kernelwright.toolexec.judge.foreign_memory import read
from kernelwright.toolexec.judge.worker import Worker
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.precision import Array
from kernelwright.toolexec.workers.arena import GAP, lay_out, nbytes
from kernelwright.toolexec.workers.kernel import FENCE as KERNEL_FENCE
from kernelwright.toolexec.workers.kernel import FENCE_BYTES, NUMPY_DTYPES, OUTSIDE, LoadSpec, TensorSpec

PAGE = 4096
LIMIT_S = 60.0
FENCE = 0xC3
"""Byte between inputs; it must still be there after a call."""
MAX_TRIP_NS = 100_000
"""A round trip longer than this is the machine's load, not the price of a message."""
CONTROL = "#2"
"""Marks the second process of a baseline, the A/A control."""
LINGER_S = 0.05
LINGER_MOST_S = 3.0
LINGER_STILL_NS = 200_000
"""Processor time within LINGER_S that is no work."""


class BaselineFailed(Exception):
    """A baseline's process failed while a candidate was judged: not the candidate's fault.

    Args:
        name: which baseline.
        failure: what its worker did.
    """

    def __init__(self, name: str, failure: WorkerFailure) -> None:
        super().__init__(f"the baseline {name} failed: {failure.message}")
        self.name = name
        self.failure = failure


class Contestant:
    """A loaded kernel.

    Args:
        name: baseline's name or candidate's id.
        worker: its process.
        key: the kernel's key in that process.
        spec: what it was loaded from.
        trusted: a baseline; that it fails is no candidate's fault.
        guards: which of the judge's guards are on.
    """

    def __init__(
        self, name: str, worker: Worker, key: str, spec: LoadSpec, *, trusted: bool, guards: Guards = ALL
    ) -> None:
        self.name = name
        self.worker = worker
        self.key = key
        self.spec = spec
        self.trusted = trusted
        self.guards = guards
        if guards.off:  # the worker's part of them
            self.spec = dataclasses.replace(spec, options={**spec.options, "guards_off": list(guards.off)})
        worker.still, worker.strict = guards.freeze_idle, guards.wire_strict
        worker.stamped, worker.trusted = spec.threads == 1 and guards.freeze_idle, trusted
        worker.charged = guards.affinity and guards.charge_collect
        self.cores = measuring_cores(spec.threads) or tuple(allowed_cores())
        """Where it may run."""
        self.cpu_ns = 0
        """Processor time of the last go."""
        self.collect_ns = 0
        """Time in which it could do something while the last outputs were collected; 0 when it stood still."""
        self._threads_before = len(standstill.threads(worker.pid))
        self.cases = 0
        """Calls with a result, one at a time, that were no sample."""
        self.limit_s = LIMIT_S
        """Longest time for one answer."""
        self.budget_s = math.inf
        """How long the judge waits for it altogether."""
        self.deadline = math.inf
        """``time.monotonic()`` after which nothing is waited for any more."""
        self.slots = 0
        self.round_trip_ns = 0
        self._start = self._slots_start = self.worker.arena.size
        self._inputs: list[list[Array]] = []
        self._fences: list[list[Array]] = []
        self._memory: list[list[int]] = []
        self._room: dict[int, list[Array]] = {}
        self._input_places: list[list[int]] = []
        self._output_places: list[list[int]] = []

    @property
    def is_control(self) -> bool:
        """Is it there only to be compared with another process of the same kernel?"""
        return self.name.endswith(CONTROL)

    @property
    def keeps_inputs(self) -> bool:
        """Must it leave its inputs as they are? The reference's own module may write to them."""
        return "mode" not in self.spec.options

    @property
    def timeout_s(self) -> float:
        """Seconds that the next answer may take."""
        left = min(self.budget_s - self.worker.waited_s, self.deadline - time.monotonic())
        return max(0.05, min(self.limit_s, left))

    @property
    def spent(self) -> bool:
        """Is its time up?"""
        return self.worker.waited_s >= self.budget_s or time.monotonic() >= self.deadline

    def load(self) -> None:
        """Load it, on the cores where it will be measured: what it starts stays on them.

        Raises:
            WorkerFailure: it cannot be loaded.
        """
        if not self.trusted and self.guards.affinity:
            self.worker.pin(self.cores)
        artifact = Path(self.spec.artifact)
        if self.spec.entry.endswith("module") and self.keeps_inputs:  # a candidate of several files
            given = self.worker.bring(artifact.parent) / artifact.name
        else:
            given = self.worker.bring(artifact)
        self._loaded(self._ask("load", key=self.key, spec={**self.spec.to_json(), "artifact": str(given)}))

    def _loaded(self, told: Mapping[str, Any]) -> None:
        """Told once by a worker that loaded it: nothing, on a processor."""

    def set_weights(self, weights: Sequence[Array]) -> None:
        """Hand over the weights (once)."""
        places, end = lay_out(self.spec.parameters, self._start)
        self._grow(end)
        for at, spec, array in zip(places, self.spec.parameters, weights, strict=True):
            np.copyto(self.worker.arena.array(at, spec), array)
        self._start = self._slots_start = -(-end // PAGE) * PAGE
        self._ask("weights", key=self.key, at=places)

    def prepare(self) -> bool:
        """Let it pack its weights; True when it has something to pack."""
        return bool(self._ask("prepare", key=self.key)["prepared"])

    def observed(self) -> Mapping[str, Any]:
        """What its worker saw of its calls; {} when that is nonsense."""
        seen = self._ask("observed", key=self.key).get("seen")
        return seen if isinstance(seen, dict) else {}

    def ensure_slots(self, count: int) -> None:
        """Have at least ``count`` bound slots."""
        if count <= self.slots:
            return
        for _ in range(self.slots, count):
            inputs, end = lay_out(self.spec.inputs, self._start)
            outputs, end = lay_out(self.spec.outputs, end)
            self._input_places.append(inputs)
            self._output_places.append(outputs)
            self._start = end
        self._grow(self._start)
        arena = self.worker.arena
        for slot in range(self.slots, count):
            places = zip(self._input_places[slot], self.spec.inputs, strict=True)
            self._inputs.append([arena.array(at, spec) for at, spec in places])
            ends = zip(self._input_places[slot], self.spec.inputs, strict=True)
            fence = TensorSpec("fence", "uint8", (GAP,))
            self._fences.append([arena.array(at + nbytes(spec), fence) for at, spec in ends])
        fresh = [[slot, self._input_places[slot]] for slot in range(self.slots, count)]
        self._memory += known_memory(self._ask("bind", key=self.key, slots=fresh).get("memory"), self.spec, len(fresh))
        self.slots = count

    def fill(self, slot: int, inputs: Sequence[Array]) -> None:
        """Write inputs into a slot."""
        for target, array in zip(self._inputs[slot], inputs, strict=True):
            np.copyto(target, array)
        for fence in self._fences[slot]:
            fence.fill(FENCE)

    def arm(self, slots: Sequence[int], poison: int = 0xFF) -> None:
        """Poison the slots' outputs and say which slots the next go runs. Fill them afterwards."""
        self._ask("arm", key=self.key, slots=list(slots), poison=poison if self.guards.poison else 0)

    def go(self) -> int:
        """Run what was armed; nanoseconds of wall time, round trip included."""
        try:
            elapsed = self.worker.go(self.timeout_s)
        except WorkerFailure as failure:
            raise self._blame(failure) from failure
        self.cpu_ns = self.worker.cpu_ns
        return elapsed

    def strays(self) -> set[int]:
        """Cores that it let itself run on beside its own."""
        return standstill.outside(self.worker.pid, self.cores)

    def ran_on(self) -> int:
        """How often it worked while it was to stand still."""
        return self.worker.standing.ran_on

    def extra_threads(self) -> int:
        """Threads of its process, beyond those before it was loaded."""
        return max(0, len(standstill.threads(self.worker.pid)) - self._threads_before)

    def runs_on(self) -> list[int]:
        """Processes that it started and that do not stand still with it."""
        return self.worker.runs_on()

    def linger(self) -> None:
        """Let it run on for a while, until it does nothing more (only tests want that)."""
        self.worker.resume()
        deadline, used = time.monotonic() + LINGER_MOST_S, -1
        while time.monotonic() < deadline:
            time.sleep(LINGER_S)
            there = self.worker.processes()
            before, used = used, sum(standstill.cpu_ns(pid) for pid in there)
            # Between two pieces of work a helper sleeps for a moment: that alone is not the end.
            if used - before < LINGER_STILL_NS and not any(standstill.busy(pid) for pid in there):
                return

    def collect(self, slots: Sequence[int], *, copy: bool = True) -> list[list[Array]]:
        """Outputs of the slots: read from the memory of a worker that stands still, else handed over by it.

        Args:
            slots: which.
            copy: False returns views, valid until the next collect.

        Raises:
            WorkerFailure: of kind ``shape`` or ``dtype`` when they do not look as they must.
        """
        found = self._read(slots) if self.worker.stopped and all(self._memory[s] for s in slots) else None
        self.collect_ns = 0
        if found is not None:
            return [[np.array(a) for a in arrays] for arrays in found] if copy else found
        places = [self._output_places[s] for s in slots]
        told = self._ask("collect", key=self.key, slots=list(slots), at=places)
        self.collect_ns = self.worker.answer_ns
        if "mismatch" in told:
            raise self._mismatch(told["mismatch"])
        arena = self.worker.arena
        views = [
            [arena.array(at, spec) for at, spec in zip(places_, self.spec.outputs, strict=True)] for places_ in places
        ]
        return [[np.array(a) for a in arrays] for arrays in views] if copy else views

    def _read(self, slots: Sequence[int]) -> list[list[Array]] | None:
        """Outputs with what lies around them; None where this machine does not let us."""
        for slot in slots:
            if slot not in self._room:
                self._room[slot] = [np.empty(nbytes(t) + 2 * FENCE_BYTES, np.uint8) for t in self.spec.outputs]
        wanted = [(slot, i) for slot in slots for i in range(len(self.spec.outputs))]
        if not read(self.worker.pid, [self._memory[s][i] for s, i in wanted], [self._room[s][i] for s, i in wanted]):
            return None
        found: list[list[Array]] = [[] for _ in slots]
        for at, (slot, i) in enumerate(wanted):
            whole, spec = self._room[slot][i], self.spec.outputs[i]
            around = whole[:FENCE_BYTES].tobytes(), whole[-FENCE_BYTES:].tobytes()
            if self.guards.canary and around != (KERNEL_FENCE, KERNEL_FENCE):
                raise self._blame(WorkerFailure("runtime", OUTSIDE.format(i)))
            inner = whole[FENCE_BYTES : whole.size - FENCE_BYTES]
            found[at // len(self.spec.outputs)].append(inner.view(NUMPY_DTYPES[spec.dtype]).reshape(spec.shape))
        return found

    def intact(self, slot: int, inputs: Sequence[Array]) -> bool:
        """Are the slot's inputs still what was written?"""
        return all(
            np.array_equal(here.reshape(-1).view(np.uint8), there.reshape(-1).view(np.uint8))
            for here, there in zip(self._inputs[slot], inputs, strict=True)
        )

    def fenced(self, slot: int) -> bool:
        """Is the memory beside the slot's inputs untouched?"""
        return all(bool((fence == FENCE).all()) for fence in self._fences[slot])

    def forget(self) -> None:
        """Drop results and give back the memory behind the slots; they can be filled again."""
        self.arm(range(self.slots))
        self.arm([])
        self.worker.arena.release(self._slots_start, self._start)

    def calibrate(self, rounds: int = 25) -> None:
        """Measure the round trip of an empty go: the shortest, since what was never spent must not be taken off."""
        self.arm([])
        self.round_trip_ns = min(MAX_TRIP_NS, *(self.go() for _ in range(rounds)))

    def one_call_ns(self, inputs: Sequence[Array], repeats: int = 3) -> float:
        """A first idea of the time of one call."""
        best = float("inf")
        for _ in range(repeats):
            self.arm([0])
            self.fill(0, inputs)
            best = min(best, self.go() - self.round_trip_ns)
        return max(best, 200.0)

    def _ask(self, op: str, **fields: Any) -> dict[str, Any]:
        try:
            return self.worker.call(op, self.timeout_s, **fields)
        except WorkerFailure as failure:
            raise self._blame(failure) from failure

    def _blame(self, failure: WorkerFailure) -> Exception:
        return BaselineFailed(self.name, failure) if self.trusted else failure

    def _grow(self, end: int) -> None:
        if end > self.worker.arena.size:
            self.worker.arena.grow(end)
            self._ask("arena", size=self.worker.arena.size)

    def _mismatch(self, found: object) -> WorkerFailure:
        wanted = [(t.dtype, tuple(t.shape)) for t in self.spec.outputs]
        try:
            got = [(str(f["dtype"]), tuple(int(n) for n in f["shape"])) for f in found]  # type: ignore[attr-defined]
        except (TypeError, KeyError, ValueError):
            return WorkerFailure("cheated", "the worker told nonsense about its outputs")
        if len(got) != len(wanted):
            return WorkerFailure("shape", f"{len(got)} outputs; the reference returns {len(wanted)}")
        for i, (g, w) in enumerate(zip(got, wanted, strict=True)):
            if g[1] != w[1]:
                return WorkerFailure("shape", f"output {i} has shape {list(g[1])}, expected {list(w[1])}")
            if g[0] != w[0]:
                return WorkerFailure("dtype", f"output {i} is {g[0]}, expected {w[0]}")
        return WorkerFailure("cheated", "the worker told nonsense about its outputs")


def known_memory(told: object, spec: LoadSpec, count: int) -> list[list[int]]:
    """Addresses of outputs as a worker told them, slot by slot; [] for a slot where it told none, or nonsense."""
    if not isinstance(told, list) or len(told) != count:
        return [[] for _ in range(count)]
    rows = [row if isinstance(row, list) and len(row) == len(spec.outputs) else [] for row in told]
    return [row if all(type(n) is int and 0 < n < 1 << 63 for n in row) else [] for row in rows]
