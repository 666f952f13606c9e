"""One kernel in a worker on a GPU, as the rounds see it: clocked by the device, or sealed and clocked by the judge.

Owns which of the two a call is (devices/README.md says why there are two), that device times fit the judge's clock, and
that sealed outputs are those that were summed before "done". No CUDA library is loaded here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelwright.errors import JudgeError
from kernelwright.records import Failure, Status
from kernelwright.toolexec.guards import Guards
from kernelwright.toolexec.judge.contestant import FENCE, Contestant
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.judge.worker import Worker
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.precision import Array
from kernelwright.toolexec.sealing import input_stream, new_key, sealed, sums_of
from kernelwright.toolexec.workers.kernel import LoadSpec

if TYPE_CHECKING:
    from kernelwright.toolexec.judge.gpu_side import GpuSide

SPAN_SLACK, SPAN_SLACK_US = 1.02, 50.0
"""Device time of a whole go may exceed the judge's own clock by so much: the two clocks' disagreement."""
LATE_OUTPUTS = (
    "its outputs are not those that lay there when it said that it was done: work goes on after that, or what it adds "
    "up is not what it hands over"
)
BUSY = (
    "the GPU was busy while everybody stood still: another process uses it, or the candidate left a kernel running, "
    "which would slow its rivals down"
)


class DeviceContestant(Contestant):
    """A kernel that a worker runs on a GPU.

    ``go`` gives nanoseconds: of the device, between events, or where calls are sealed of the judge's own clock, which
    then hold opening, flushing and summing as well; :meth:`calibrate` says how long these take.

    Args:
        side: the GPU; the other arguments are :class:`Contestant`'s.
    """

    def __init__(  # noqa: PLR0913
        self, name: str, worker: Worker, key: str, spec: LoadSpec, *, trusted: bool, guards: Guards, side: GpuSide
    ) -> None:
        super().__init__(name, worker, key, spec, trusted=trusted, guards=guards)
        self.worker.stamped = False
        self.cores = side.cores
        self.wall_ns = 0
        """The judge's own clock around the last go."""
        self.about: Mapping[str, Any] = {}
        """What its worker says of the GPU."""
        self._side = side
        self._armed: tuple[int, ...] = ()
        self._seal_key = b""
        """Of the armed call, where it is sealed."""
        self._unsealer = ""
        self._told = b""

    def load(self) -> None:
        """Open the GPU in its worker, which is the machine's business, then load the kernel, which is its author's.

        Raises:
            JudgeError: the GPU cannot be driven.
            WorkerFailure: the kernel cannot be loaded.
        """
        told = dict(self.spec.options["runtime"])
        if told["file"]:
            told["file"] = str(self.worker.bring(Path(told["file"])))
            self.spec = dataclasses.replace(self.spec, options={**self.spec.options, "runtime": told})
        try:
            self.worker.call("open", self.limit_s, runtime=told)
        except WorkerFailure as failure:
            message = f"the GPU cannot be driven from a worker: {failure.message}"
            raise JudgeError(message, hint=failure.log[-800:] or "`kernelwright doctor` says what is here") from failure
        super().load()

    def arm(self, slots: Sequence[int], poison: int = 0xFF) -> None:
        """As for any contestant; which calls the next go makes is kept. Not sealed until inputs are written."""
        super().arm(slots, poison)
        self._armed = tuple(slots)
        self._seal_key = b""

    def fill(self, slot: int, inputs: Sequence[Array]) -> None:
        """Write inputs into a slot, sealed where calls are."""
        if not self._side.sealed:
            super().fill(slot, inputs)
            return
        self._seal_key = self._seal_key or new_key()
        for number, (target, array) in enumerate(zip(self._inputs[slot], inputs, strict=True)):
            bytes_ = sealed(np.ascontiguousarray(array), self._seal_key, input_stream(slot, number))
            np.copyto(target.reshape(-1).view(np.uint8), bytes_)
        for fence in self._fences[slot]:
            fence.fill(FENCE)

    def go(self) -> int:
        """Run what was armed, each on what was written for it; nanoseconds, all calls together."""
        if self._armed and self._seal_key:
            return self._sealed_go()
        if self._armed:
            self._ask("ready", key=self.key)
        self.wall_ns = super().go()
        self.cpu_ns = 0  # launching and waiting are no work of the kernel
        if not self._armed:
            return 0
        return round(1000 * math.fsum(self._checked(self._ask("times"))))

    def collect(self, slots: Sequence[int], *, copy: bool = True) -> list[list[Array]]:
        """Outputs, and the inputs as the device has them now. The device was waited for: nothing is left to charge."""
        found = super().collect(slots, copy=copy)
        self.collect_ns = 0
        if self._seal_key and not self.trusted and self.guards.check_timed and tuple(slots) == self._armed:
            told = np.frombuffer(self._told, dtype="<u8").tolist() if len(self._told) % 8 == 0 else []
            if told != sums_of(found, slots, self._seal_key):
                raise self._blame(WorkerFailure("cheated", LATE_OUTPUTS))
        return found

    def calibrate(self, rounds: int = 15) -> None:
        """What a sealed call costs beside the kernel: the quickest of some that run none, in a worker that is ours.

        Device times hold no message: nothing is taken off them. Nor is anything that a candidate's own worker says.
        """
        self.round_trip_ns = 0
        if not self._side.sealed:
            self.arm([])
            self.go()
        elif self.trusted:
            trips = []
            for _ in range(rounds):
                self.arm([0])
                self._seal_key = new_key()
                trips.append(self._sealed_go(empty=True))
            self.round_trip_ns = min(trips)
            self._side.note_overhead(self.round_trip_ns / 1000)

    def strays(self) -> set[int]:
        """None: it may run anywhere."""
        return set()

    def extra_threads(self) -> int:
        """None that are a candidate's; the driver has its own."""
        return 0

    def _sealed_go(self, *, empty: bool = False) -> int:
        """One go between the judge's own readings of its clock; what was told with "done" is kept for collecting."""
        if not self._unsealer:
            self._unsealer = str(self.worker.bring(self._side.unsealer))
        told = self._ask("seal", unsealer=self._unsealer, empty=empty, idle=self.trusted and not empty)
        if self.trusted and told.get("idle") is not True:
            raise Rejection(Status.UNSTABLE, Failure(check="idle GPU", message=BUSY))
        try:
            self.wall_ns = self.worker.go(self.timeout_s, self._seal_key.hex())
        except WorkerFailure as failure:
            raise self._blame(failure) from failure
        self.cpu_ns = 0
        try:
            self._told = bytes.fromhex(self.worker.told.decode("ascii", "replace"))
        except ValueError:
            raise self._blame(WorkerFailure("cheated", "the worker told nonsense about its outputs")) from None
        return self.wall_ns

    def _loaded(self, told: Mapping[str, Any]) -> None:
        self._side.saw(told.get("kind", ""))
        about = told.get("about")
        self.about = about if isinstance(about, dict) else {}

    def _checked(self, told: Mapping[str, Any]) -> list[float]:
        """Times that are numbers, one a call, within the span, within the judge's own clock."""
        calls, span = told.get("us"), told.get("span_us")
        numbers = [*calls, span] if isinstance(calls, list) else []
        good = all(type(n) is float and math.isfinite(n) and n >= 0 for n in numbers)
        if not good or len(numbers) != len(self._armed) + 1:
            raise self._blame(WorkerFailure("cheated", "the worker told nonsense about its times"))
        wall_us = self.wall_ns / 1000
        if math.fsum(numbers[:-1]) > numbers[-1] * SPAN_SLACK + SPAN_SLACK_US or (
            numbers[-1] > wall_us * SPAN_SLACK + SPAN_SLACK_US
        ):
            message = f"device times of {numbers[-1]:.0f} us do not fit the {wall_us:.0f} us that the judge waited"
            raise self._blame(WorkerFailure("cheated", message))
        return numbers[:-1]
