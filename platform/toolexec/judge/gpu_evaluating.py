"""One evaluation on a GPU: what is built for which chip, whose clock counts, when a time is a time.

Owns what differs from judge/evaluating.py. Proofs, rounds and the verdict are the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelwright.errors import JudgeError
from kernelwright.protocols import BuildResult
from kernelwright.records import (
    Candidate,
    Depth,
    Entry,
    Evaluation,
    Failure,
    KernelFacts,
    LanguageName,
    Level,
    SourceFile,
    Status,
    TaskFacts,
)
from kernelwright.records.wording import WHATEVER
from kernelwright.toolexec.judge.depths import Thoroughness
from kernelwright.toolexec.judge.evaluating import Evaluating
from kernelwright.toolexec.judge.gpu_looking import sanitized
from kernelwright.toolexec.judge.gpu_side import GpuSide, brings_host_code
from kernelwright.toolexec.judge.judgement import Outcome
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.languages import language
from kernelwright.toolexec.languages.ahead import AheadLanguage
from kernelwright.toolexec.languages.cubin import CubinError
from kernelwright.toolexec.languages.gpu_language import GpuLanguage
from kernelwright.toolexec.languages.launch import LaunchError
from kernelwright.toolexec.languages.triton import TritonLanguage

CLOCKED = "timed on the device by events around each call, L2 flushed before it; TF32 off for all"
SEALED = (
    "its host code is a stranger's, so the judge's own clock counts, for it and its baselines alike: from the key to "
    "its sealed inputs, L2 flushed before the call, to the sum of its outputs; TF32 off for all"
)
STAND_IN = "a stand-in drove the kernels, no GPU: right or wrong, never fast or slow"
TIMES = ("workloads", "speedup", "best_baseline", "regressed", "prepare_us", "raw")
"""Fields of an Evaluation that rest on times."""
UNSEALER = Path(__file__).parents[1] / "workers" / "unseal.cu"


class NotTimed(Exception):
    """The judge cannot time such a candidate on a GPU; that says nothing about the candidate."""


class GpuEvaluating(Evaluating):
    """One evaluation on a GPU."""

    def run(self, against: Sequence[str], other: Candidate | None = None) -> Evaluation:
        """Build for this chip, judge at every workload, draw up the verdict."""
        self._clocks = [self._side.place.clocks()]
        self._artifact: Path | None = None
        self._overheads: dict[str, float] = {}
        try:
            if any(brings_host_code(c) for c in (self.candidate, other) if c is not None):
                self._seal()
            return super().run(against, other)
        except NotTimed as reason:
            failure = Failure(check="device", message=str(reason))
            return self._evaluation(Status.UNJUDGED, Level.COMPILED, failure=failure)
        finally:
            self._side.sealed = False

    @property
    def _side(self) -> GpuSide:
        side = next(iter(self.place.benches.values())).gpu
        assert side is not None, "a session on a GPU gives every bench its side"
        return side

    def _seal(self) -> None:
        """From here on all calls are sealed, one a sample, and the judge's own clock counts.

        Raises:
            JudgeError: the kernels that open inputs do not build.
        """
        text = UNSEALER.read_text(encoding="utf-8")
        ours = Candidate(
            language=LanguageName.CUDA,
            entry=Entry.C,
            files=(SourceFile(path=UNSEALER.name, text=text),),
            entry_file=UNSEALER.name,
        )
        facts = TaskFacts(task_id=self.place.task.id, workloads=())
        limit_s = self.place.settings.build_timeout_s
        made = self._side.build(ours, facts, workload="", folder=self.place.builds, timeout_s=limit_s)
        if made.artifact is None:
            raise JudgeError(f"what opens sealed inputs does not build: {made.log[:300]}")
        self._side.unsealer, self._side.sealed = made.artifact, True
        self.thorough = single_calls(self.thorough)

    def _measure(
        self, artifacts: Mapping[str, Path], against: Sequence[str], rivals: Mapping[str, tuple[Candidate, Path]]
    ) -> None:
        """All of it under the GPU's lock: proofs of one session would be noise in the times of another."""
        bench = next(iter(self.place.benches.values()))
        with bench.lock.held(bench.progress):
            super()._measure(artifacts, against, rivals)

    def _come_up(self, artifacts: Mapping[str, Path], against: Sequence[str]) -> None:
        """As on a processor, but one after the other: compilers that tune measure on the GPU."""
        super()._come_up(artifacts, [])
        self.place.baselines.build_all(against, self.place.benches[next(iter(artifacts))].progress)

    def _judge(
        self, workload: str, artifact: Path, against: Sequence[str], rival: tuple[Candidate, Path] | None
    ) -> Outcome:
        """With what sealed calls cost there beside the kernel."""
        self._side.overheads_us.clear()
        outcome = super()._judge(workload, artifact, against, rival)
        if self._side.sealed and self._side.overheads_us:
            self._overheads[workload] = min(self._side.overheads_us)
        return outcome

    def _build(self, candidate: Candidate) -> dict[str, Path]:
        """For the chip at hand where the candidate leaves that open."""
        if reason := self._side.why_not(candidate):
            raise NotTimed(reason)
        native = self._side.built_as(candidate)
        if candidate.entry is Entry.PIPELINE:
            made = self._build_pipeline(native)
        else:
            made = super()._build(native) if self._side.place.build is None else self._build_in_place(native)
        if candidate is self.candidate:
            self._artifact = next(iter(made.values()), None)
        return made

    def _passed(self) -> Evaluation:
        """With static facts of the kernels that ran, but at depth screen: disassembling takes longer than a screen. A
        winner is looked at by compute-sanitizer, where it is installed."""
        passed = super()._passed()
        if self._side.sealed:
            told = bounds(passed, self._hideable(), {w.name: w.weight for w in self.place.task.workloads})
            passed = passed.model_copy(update={"static_notes": (*passed.static_notes, *told)})
        if self.depth is Depth.SCREEN or self._artifact is None:
            return passed
        if self.depth is Depth.CONFIRMED:
            found = sanitized(self.place.benches, self._side, self.candidate, self._artifact)
            passed = passed.model_copy(update={"static_notes": (*passed.static_notes, *found)})
        native = self.candidate.model_copy(update={"architecture": self._side.place.architecture})
        return passed.model_copy(update={"kernels": static_kernels(self._artifact, native, self.place.facts)})

    def _hideable(self) -> dict[str, Hideable]:
        """Workload -> what host code there could have kept out of the judge's clock."""
        found = {}
        for name, overhead_us in self._overheads.items():
            found[name] = Hideable(overhead_us, self.place.floors.byte_floor_us(name) or 0.0)
        return found

    def _build_pipeline(self, candidate: Candidate) -> dict[str, Path]:
        """A Halide pipeline, compiled anew for each workload's shapes."""
        start, limit_s = time.monotonic(), self.place.settings.build_timeout_s
        made: dict[str, Path] = {}
        try:
            for name in (w.name for w in self.place.task.workloads):
                built = self._side.build(
                    candidate, self.place.facts, workload=name, folder=self.place.builds, timeout_s=limit_s
                )
                made[name] = built_or_refused(built)
        finally:
            self.clock.build_s += time.monotonic() - start
        return made

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
        return dict.fromkeys(names, built_or_refused(made))

    def _evaluation(self, status: Status, level: Level, *, notes: Sequence[str] = (), **fields: Any) -> Evaluation:
        """With the clocks; without any time where no GPU gave it."""
        if self._side.honest or level is not Level.MEASURED:
            told = [text for text in (*self._clocks, self._side.place.clocks()) if text]
            clocks = [f"clocks before and after: {'; '.join(told)}"] if told else []
            timed = [SEALED if self._side.sealed else CLOCKED] if level is Level.MEASURED else []
            return super()._evaluation(status, level, notes=(*notes, *timed, *clocks), **fields)
        kept = {name: value for name, value in fields.items() if name not in TIMES}
        return super()._evaluation(status, Level.EMULATED, notes=(STAND_IN, *notes), **kept)


def built_or_refused(made: BuildResult) -> Path:
    """The artifact.

    Raises:
        Rejection: COMPILE_ERROR, with the first line of its log.
    """
    if made.artifact is not None:
        return made.artifact
    first = next((line for line in made.log.splitlines() if line.strip()), "it does not build")
    raise Rejection(Status.COMPILE_ERROR, Failure(check="build", message=first[:300], log_tail=made.log[-1500:]))


def single_calls(thorough: Thoroughness) -> Thoroughness:
    """The same with one call a sample: calls of one go could share work, and each is opened and summed for itself."""
    again = None if thorough.again is None else replace(thorough.again, sample_us=0.0, singles=0)
    return replace(thorough, plan=replace(thorough.plan, sample_us=0.0, singles=0), again=again)


@dataclass(frozen=True)
class Hideable:
    """What host code can keep out of a sealed call, at one workload."""

    overhead_us: float
    """Opening, flushing and summing: taken off each sample, and not to be seen whether it was done."""
    moving_us: float
    """Inputs that were not flushed lie in L2, and outputs that are summed can be written later: the bytes' floor."""

    def most_us(self, latency_us: float) -> float:
        """The longest that a call can have taken."""
        return latency_us + self.overhead_us + self.moving_us


def bounds(evaluation: Evaluation, hideable: Mapping[str, Hideable], weights: Mapping[str, float]) -> list[str]:
    """What holds of sealed times whatever the host code did.

    Args:
        evaluation: that passed, with times.
        hideable: by workload.
        weights: of the workloads.
    """
    told, slower, total = [], 0.0, 0.0
    for result in evaluation.workloads:
        hidden = hideable.get(result.workload)
        if hidden is None or result.latency_us is None:
            continue
        latency = result.latency_us.median
        most = hidden.most_us(latency)
        told.append(
            f"{result.workload}: {latency:.1f} us after {hidden.overhead_us:.0f} us for opening, flushing and summing "
            f"were taken off; {most:.1f} us at most, had its host code left those out and moved its data unseen"
        )
        weight = weights.get(result.workload, 1.0)
        slower += weight * math.log(most / latency)
        total += weight
    if evaluation.speedup is not None and total:
        least = evaluation.speedup.low * math.exp(-slower / total)
        told.append(f"at least {least:.2f}x over {evaluation.speedup.against} {WHATEVER}")
    return told


def static_kernels(artifact: Path, candidate: Candidate, facts: TaskFacts) -> tuple[KernelFacts, ...]:
    """What is known of a finished build without running it; () where it holds no cubin, or none that can be read."""
    spoken = language(candidate.language.value)
    if isinstance(spoken, GpuLanguage) and not (artifact / "kernel.cubin").exists():
        return ()
    if not isinstance(spoken, GpuLanguage | TritonLanguage | AheadLanguage):
        return ()
    try:
        return tuple(spoken.statics(artifact, candidate, facts).kernels)
    except (CubinError, LaunchError, OSError):
        return ()
