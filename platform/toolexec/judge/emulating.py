"""One evaluation on device ``emulated``: the same proofs of correctness as anywhere, and no times.

Owns what differs from judge/evaluating.py: candidates are built by the emulator, nothing is timed beside a baseline,
and a report's program counters become lines of the kernel.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

from kernelwright.records import Candidate, Entry, Evaluation, Failure, LanguageName, Level, Status
from kernelwright.toolexec.emulator import second_source
from kernelwright.toolexec.emulator.build import Source, build_library, cannot_run, lacking_header
from kernelwright.toolexec.emulator.lines import with_lines
from kernelwright.toolexec.judge.apart import prove_apart
from kernelwright.toolexec.judge.evaluating import Evaluating
from kernelwright.toolexec.judge.judgement import hosted, prove
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.languages.gpu_language import has_host_code, plan_of
from kernelwright.toolexec.languages.launch import LaunchError
from kernelwright.toolexec.languages.torch import TorchLanguage

CHECKED = "emulated: run on the processor with all checkers on; right or wrong, never fast or slow"
UNCHECKED = "emulated without checkers: only the results were looked at; right or wrong, never fast or slow"
INTERPRETED = "interpreted: Triton's own interpreter ran it, program after program; races between programs are not seen"
SECOND_S = 60.0
UNSUPPORTED = "unsupported: "
"""How the emulator and the interpreter begin to say what they cannot run."""


class NotEmulated(Exception):
    """The emulator has nothing for what the candidate uses; that says nothing about the candidate."""


class Emulating(Evaluating):
    """One evaluation without times."""

    def run(self, against: Sequence[str], other: Candidate | None = None) -> Evaluation:
        """Build, prove at every workload, draw up the verdict."""
        artifacts: dict[str, Path] = {}
        try:
            artifacts = self._build(self.candidate)
            start = time.monotonic()
            try:
                for name, artifact in artifacts.items():
                    self._prove(name, artifact)
                second = self._second_source(artifacts)
            finally:
                self.clock.measure_s = time.monotonic() - start
            return self._evaluation(Status.PASSED, Level.EMULATED, notes=(self._kind(), *self._notes(), *second))
        except NotEmulated as reason:
            return self._evaluation(
                Status.UNJUDGED, Level.COMPILED, failure=Failure(check="emulate", message=str(reason))
            )
        except Rejection as rejection:
            if rejection.failure.message.removeprefix("run: ").startswith(UNSUPPORTED):
                return self._evaluation(Status.UNJUDGED, Level.COMPILED, failure=rejection.failure)
            failure = self._located(rejection.failure, artifacts)
            return self._evaluation(rejection.status, Level.EMULATED, failure=failure)

    @property
    def _checked(self) -> bool:
        return self.place.settings.device != "emulated:unchecked"

    def _kind(self) -> str:
        if self.candidate.language is LanguageName.TRITON:
            return INTERPRETED
        return CHECKED if self._checked else UNCHECKED

    def _build(self, candidate: Candidate) -> dict[str, Path]:
        start = time.monotonic()
        try:
            return self._emulated(candidate)
        except LaunchError as error:
            raise Rejection(Status.COMPILE_ERROR, Failure(check="build", message=f"error: {error}")) from error
        finally:
            self.clock.build_s += time.monotonic() - start

    def _emulated(self, candidate: Candidate) -> dict[str, Path]:
        if candidate.language is LanguageName.TRITON:
            return self._interpreted(candidate)
        if candidate.entry is not Entry.C or candidate.language is LanguageName.CPP:
            raise NotEmulated(f"{candidate.language.value} is no language that the emulator runs: cuda, cute, triton")
        files = {f.path: f.text for f in candidate.files}
        if reason := cannot_run(files):
            raise NotEmulated(reason)
        plan, host = plan_of(candidate), has_host_code(candidate)
        kernels = () if host else tuple(launch.kernel for launch in plan.launches if launch.args is not None)
        if not host and not kernels:
            raise LaunchError(f"{candidate.entry_file} has neither kw_run nor a line `// launch: ..` with args(..)")
        told = (
            None if host else {"source": candidate.text(candidate.entry_file), "tunables": candidate.tunable_values()}
        )
        flags = (*candidate.flags, *(f"-D{t.name}={t.value}" for t in candidate.tunables))
        source = Source(files, candidate.entry_file, flags=flags, kernels=kernels, told=told)
        left = min(self.place.settings.build_timeout_s, max(self.allowance.deadline - time.monotonic(), 0.1))
        built = build_library(source, folder=self.place.builds, timeout_s=left, checked=self._checked)
        if not built.ok or built.artifact is None:
            if reason := lacking_header(built.log, files):
                raise NotEmulated(reason)
            first = next((line for line in built.log.splitlines() if line.strip()), "it does not build")
            failure = Failure(check="build", message=first[:300], log_tail=built.log[-1500:])
            raise Rejection(Status.COMPILE_ERROR, failure)
        return {w.name: built.artifact for w in self.place.task.workloads}

    def _interpreted(self, candidate: Candidate) -> dict[str, Path]:
        """A Triton candidate is its own files: Triton's interpreter runs them."""
        made: dict[str, Path] = {}
        for workload in self.place.task.workloads:
            built = TorchLanguage().build(
                candidate, self.place.facts, workload=workload.name, folder=self.place.builds, timeout_s=60.0
            )
            if not built.ok or built.artifact is None:
                raise Rejection(Status.COMPILE_ERROR, Failure(check="build", message=built.log[:300]))
            made[workload.name] = built.artifact
        return made

    def _prove(self, workload: str, artifact: Path) -> None:
        bench = self.place.benches[workload]
        outcome = prove_apart(bench, self.candidate, artifact, thorough=self.thorough, allowance=self.allowance)
        with hosted(bench, self.candidate, artifact, bench.weights, self.allowance) as (contestant, _):
            tally = prove(bench, contestant, self.thorough.families, seed=None, fresh=self.thorough.fresh_cases)
        tally.checked_calls += outcome.tally.checked_calls
        outcome.tally = tally
        self.outcomes.append(outcome)

    def _second_source(self, artifacts: dict[str, Path]) -> list[str]:
        """What ttsem says of a Triton candidate at its smallest workload, where it is installed."""
        if self.candidate.language is not LanguageName.TRITON:
            return []
        described = {name: self.place.benches[name].described for name in artifacts}
        name = min(described, key=lambda n: sum(math.prod(t.shape) for t in described[n].inputs))
        told = second_source.asked(
            artifacts[name],
            inputs=[(t.dtype, t.shape) for t in described[name].inputs],
            init_args=described[name].init_args,
            call=described[name].call,
            timeout_s=min(SECOND_S, max(self.allowance.deadline - time.monotonic(), 1.0)),
        )
        return [told] if told else []

    def _notes(self) -> list[str]:
        checked = sum(o.tally.checked_calls for o in self.outcomes)
        return [f"{checked} calls checked", *(note for o in self.outcomes for note in o.notes)]

    def _located(self, failure: Failure, artifacts: dict[str, Path]) -> Failure:
        library = next(iter(artifacts.values()), None)
        if library is None:
            return failure
        names = [f.path for f in self.candidate.files]
        return failure.model_copy(update={"message": with_lines(failure.message, library, names)})
