"""One evaluation on a GPU: what is built for which chip, what cannot be timed there, and when a time is a time.

Owns what differs from judge/evaluating.py. Proofs, rounds and the verdict are the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.records import Candidate, Evaluation, Failure, Level, Status
from kernelwright.toolexec.judge.evaluating import Evaluating
from kernelwright.toolexec.judge.gpu_side import GpuSide
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.languages.gpu_language import has_host_code

TIMED = "timed on the device by events around each call, L2 flushed before it; TF32 off for all"
STAND_IN = "a stand-in drove the kernels, no GPU: right or wrong, never fast or slow"
TIMES = ("workloads", "speedup", "best_baseline", "regressed", "prepare_us", "raw")
"""Fields of an Evaluation that rest on times."""


class NotTimed(Exception):
    """The judge cannot time such a candidate on a GPU; that says nothing about the candidate."""


class GpuEvaluating(Evaluating):
    """One evaluation on a GPU."""

    def run(self, against: Sequence[str], other: Candidate | None = None) -> Evaluation:
        """Build for this chip, judge at every workload, draw up the verdict."""
        self._clocks = [self._side.place.clocks()]
        try:
            return super().run(against, other)
        except NotTimed as reason:
            failure = Failure(check="device", message=str(reason))
            return self._evaluation(Status.UNJUDGED, Level.COMPILED, failure=failure)

    @property
    def _side(self) -> GpuSide:
        side = next(iter(self.place.benches.values())).gpu
        assert side is not None, "a session on a GPU gives every bench its side"
        return side

    def _build(self, candidate: Candidate) -> dict[str, Path]:
        """For the chip at hand where the candidate leaves that open."""
        text = candidate.files and candidate.entry_file
        host = bool(text) and candidate.entry.value == "c" and has_host_code(candidate)
        if reason := self._side.why_not(candidate, host_code=host):
            raise NotTimed(reason)
        native = candidate.model_copy(update={"architecture": self._side.place.architecture})
        if self._side.place.build is None:
            return super()._build(native)
        return self._build_in_place(native)

    def _build_in_place(self, candidate: Candidate) -> dict[str, Path]:
        """A stand-in's own build."""
        build = self._side.place.build
        assert build is not None
        start = time.monotonic()
        names = [w.name for w in self.place.task.workloads]
        try:
            made = build(candidate, names, self.place.builds, self.place.settings.build_timeout_s)
        finally:
            self.clock.build_s += time.monotonic() - start
        if made.artifact is None:
            first = next((line for line in made.log.splitlines() if line.strip()), "it does not build")
            failure = Failure(check="build", message=first[:300], log_tail=made.log[-1500:])
            raise Rejection(Status.COMPILE_ERROR, failure)
        return dict.fromkeys(names, made.artifact)

    def _evaluation(self, status: Status, level: Level, *, notes: Sequence[str] = (), **fields: Any) -> Evaluation:
        """With the clocks; without any time where no GPU gave it."""
        if self._side.honest or level is not Level.MEASURED:
            told = [text for text in (*self._clocks, self._side.place.clocks()) if text]
            clocks = [f"clocks before and after: {'; '.join(told)}"] if told else []
            timed = [TIMED] if level is Level.MEASURED else []
            return super()._evaluation(status, level, notes=(*notes, *timed, *clocks), **fields)
        kept = {name: value for name, value in fields.items() if name not in TIMES}
        return super()._evaluation(status, Level.EMULATED, notes=(STAND_IN, *notes), **kept)
