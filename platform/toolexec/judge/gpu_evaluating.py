"""One evaluation on a GPU: what is built for which chip, what cannot be timed there, and when a time is a time.

Owns what differs from judge/evaluating.py. Proofs, rounds and the verdict are the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.records import Candidate, Depth, Evaluation, Failure, KernelFacts, Level, Status, TaskFacts
from kernelwright.toolexec.judge.evaluating import Evaluating
from kernelwright.toolexec.judge.gpu_side import GpuSide
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.languages import language
from kernelwright.toolexec.languages.cubin import CubinError
from kernelwright.toolexec.languages.gpu_language import GpuLanguage

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
        self._artifact: Path | None = None
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
        if reason := self._side.why_not(candidate):
            raise NotTimed(reason)
        native = candidate.model_copy(update={"architecture": self._side.place.architecture})
        made = super()._build(native) if self._side.place.build is None else self._build_in_place(native)
        if candidate is self.candidate:
            self._artifact = next(iter(made.values()), None)
        return made

    def _passed(self) -> Evaluation:
        """With static facts of the kernels that ran, but at depth screen: disassembling takes longer than a screen."""
        passed = super()._passed()
        if self.depth is Depth.SCREEN or self._artifact is None:
            return passed
        native = self.candidate.model_copy(update={"architecture": self._side.place.architecture})
        return passed.model_copy(update={"kernels": static_kernels(self._artifact, native, self.place.facts)})

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


def static_kernels(artifact: Path, candidate: Candidate, facts: TaskFacts) -> tuple[KernelFacts, ...]:
    """What is known of a finished build without running it; () where it holds no cubin, or none that can be read."""
    spoken = language(candidate.language.value)
    if not isinstance(spoken, GpuLanguage) or not (artifact / "kernel.cubin").exists():
        return ()
    try:
        return tuple(spoken.statics(artifact, candidate, facts).kernels)
    except CubinError:
        return ()
