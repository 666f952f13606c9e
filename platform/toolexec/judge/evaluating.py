"""One evaluation from build to verdict.

Owns the steps over all workloads and the bookkeeping of where the time went. The session lends it everything.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from kernelwright.errors import JudgeError, UnknownName
from kernelwright.protocols import JudgeSettings
from kernelwright.records import (
    Candidate,
    Depth,
    Entry,
    Environment,
    Evaluation,
    Failure,
    Level,
    Status,
    Task,
    TaskFacts,
)
from kernelwright.toolexec.floors import Floors
from kernelwright.toolexec.guards import ALL, Guards
from kernelwright.toolexec.judge import verdict
from kernelwright.toolexec.judge.apart import prove_apart
from kernelwright.toolexec.judge.attention import awake
from kernelwright.toolexec.judge.baselines import TORCH_BASELINES, BaselineSet, NotMeasured
from kernelwright.toolexec.judge.contestant import BaselineFailed, Contestant
from kernelwright.toolexec.judge.depths import DEPTHS
from kernelwright.toolexec.judge.fresh_pairs import in_pairs, measure_again
from kernelwright.toolexec.judge.judgement import Allowance, Bench, Outcome, hosted, judge, prove
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.judge.sandbox import tier
from kernelwright.toolexec.judge.stated_precision import stated_precision
from kernelwright.toolexec.languages import language
from kernelwright.toolexec.static_scan import scan

T = TypeVar("T")


@dataclass
class Workplace:
    """What a session lends to an evaluation."""

    task: Task
    facts: TaskFacts
    settings: JudgeSettings
    environment: Environment
    benches: dict[str, Bench]
    baselines: BaselineSet
    best_baseline: str
    floors: Floors
    builds: Path
    guards: Guards = ALL


@dataclass
class Clocked:
    """Where the time went."""

    started: float = field(default_factory=time.monotonic)
    build_s: float = 0.0
    measure_s: float = 0.0

    def own_s(self) -> float:
        """Everything but building and judging."""
        return max(0.0, time.monotonic() - self.started - self.build_s - self.measure_s)


class Evaluating:
    """One evaluation.

    Args:
        place: what the session lends.
        candidate: what is judged.
        depth: how thoroughly.
        deadline_s: wall time for everything; None means no limit but the depth's own per process.
    """

    def __init__(self, place: Workplace, candidate: Candidate, depth: Depth, deadline_s: float | None) -> None:
        self.place = place
        self.candidate = candidate
        self.depth = depth
        self.thorough = DEPTHS[depth]
        limit = place.settings.timeout_s * self.thorough.timeout_factor
        self.allowance = Allowance(limit, math.inf if deadline_s is None else time.monotonic() + deadline_s)
        self.clock = Clocked()
        self.outcomes: list[Outcome] = []
        self.begun: dict[str, Outcome] = {}
        """Workload -> what was proved while the baselines came up."""
        self.absent: dict[str, str] = {}
        """Baseline that was measured before -> why it is not there now."""

    def run(self, against: Sequence[str], other: Candidate | None = None) -> Evaluation:
        """Build, judge at every workload, draw up the verdict."""
        try:
            artifacts = self._build(self.candidate)
            rivals = {w: (other, a) for w, a in self._build(other).items()} if other is not None else {}
            start = time.monotonic()
            try:
                with awake():
                    self._measure(artifacts, against, rivals)
            finally:
                self.clock.measure_s = time.monotonic() - start
                if self.depth is Depth.CONFIRMED:  # only confirming needs them all, and it is rarely done twice
                    self.place.baselines.stop_others(self.place.best_baseline)
            return self._passed()
        except Rejection as rejection:
            kept = verdict.raw_samples(self.outcomes)  # what an unstable verdict rests on can be looked at
            return self._evaluation(rejection.status, Level.MEASURED, failure=rejection.failure, raw=kept)

    def _measure(
        self, artifacts: Mapping[str, Path], against: Sequence[str], rivals: Mapping[str, tuple[Candidate, Path]]
    ) -> None:
        if self.depth is Depth.CONFIRMED and not rivals:
            self._come_up(artifacts, against)
        for name, artifact in artifacts.items():
            self.outcomes.append(self._twice(partial(self._judge, name, artifact, against, rivals.get(name))))
        if self.thorough.processes > 1 and self.place.guards.remeasure:
            self._again(artifacts, rivals)

    def _build(self, candidate: Candidate) -> dict[str, Path]:
        start = time.monotonic()
        try:
            made = language(candidate.language.value)
        except UnknownName as error:
            failure = Failure(check="build", message=f"{error.message}: this version cannot build it")
            raise Rejection(Status.COMPILE_ERROR, failure) from error
        artifacts: dict[str, Path] = {}
        try:
            for workload in self.place.task.workloads:
                left = min(self.place.settings.build_timeout_s, max(self.allowance.deadline - time.monotonic(), 0.1))
                built = made.build(
                    candidate, self.place.facts, workload=workload.name, folder=self.place.builds, timeout_s=left
                )
                if not built.ok or built.artifact is None:
                    first = next((line for line in built.log.splitlines() if line.strip()), "it does not build")
                    failure = Failure(
                        check="build", message=first[:300], workload=workload.name, log_tail=built.log[-1500:]
                    )
                    raise Rejection(Status.COMPILE_ERROR, failure)
                artifacts[workload.name] = built.artifact
        finally:
            self.clock.build_s += time.monotonic() - start
        return artifacts

    def _come_up(self, artifacts: Mapping[str, Path], against: Sequence[str]) -> None:
        """Bring the baselines up, the best one afresh, and prove meanwhile what needs none of them."""
        first = next(iter(artifacts))
        self.place.baselines.stop(self.place.best_baseline)

        def prove_meanwhile() -> None:
            for name, artifact in artifacts.items():
                self.begun[name] = prove_apart(
                    self.place.benches[name],
                    self.candidate,
                    artifact,
                    thorough=self.thorough,
                    allowance=self.allowance,
                )

        self.place.baselines.build_all(against, self.place.benches[first].progress, prove_meanwhile)

    def _twice(self, measuring: Callable[[], T]) -> T:
        """Measure; once more with a fresh baseline where one failed on the way."""
        try:
            return measuring()
        except BaselineFailed as failed:
            self.place.baselines.stop(failed.name)
        try:
            return measuring()
        except BaselineFailed as failed:
            self.place.baselines.stop(failed.name)
            raise JudgeError(str(failed), hint=failed.failure.log[-800:]) from failed

    def _again(self, artifacts: Mapping[str, Path], rivals: Mapping[str, tuple[Candidate, Path]]) -> None:
        """Measure the headline's pair in further fresh processes, at every workload."""
        best = verdict.live_best(self.place.task, self.candidate.id, self.outcomes)
        for outcome in self.outcomes if best else ():
            name = outcome.workload
            pairs = self._twice(partial(self._pairs, best, name, artifacts[name], rivals.get(name)))
            for pair in pairs:
                assert pair.measured is not None
                outcome.again.append(pair.measured)
                outcome.tally.checked_calls += pair.tally.checked_calls

    def _pairs(self, best: str, workload: str, artifact: Path, rival: tuple[Candidate, Path] | None) -> list[Outcome]:
        bench, baselines = self.place.benches[workload], self.place.baselines
        with ExitStack() as whole:
            fresh = None if rival is not None else whole.enter_context(in_pairs(baselines, best, workload))

            @contextmanager
            def partner() -> Iterator[Contestant]:
                with ExitStack() as stack:
                    if fresh is None:
                        assert rival is not None
                        yield self._rival(bench, rival, stack)
                        return
                    built = fresh()
                    stack.callback(baselines.stop_built, built)
                    yield built.contestants[workload]

            pairs = measure_again(
                bench,
                self.candidate,
                artifact,
                thorough=self.thorough,
                partner=partner,
                first=None if fresh is None else baselines.contestant(best, workload),
                peer=None if best in TORCH_BASELINES else self._peer(workload, rival[0] if rival else None),
                allowance=self.allowance,
            )
        for pair in pairs:
            self._check_plausible(pair)
        return pairs

    def _judge(
        self, workload: str, artifact: Path, against: Sequence[str], rival: tuple[Candidate, Path] | None
    ) -> Outcome:
        bench = self.place.benches[workload]
        with ExitStack() as stack:
            if rival is not None:
                beside = [self._rival(bench, rival, stack)]
                checker: Contestant | None = self._peer(workload, rival[0]) or beside[0]
            else:
                beside = self._baselines(workload, against)
                checker = self._checker(workload, beside)
            begun = self.begun.pop(workload, None) or prove_apart(
                bench, self.candidate, artifact, thorough=self.thorough, allowance=self.allowance
            )
            outcome = judge(
                bench,
                self.candidate,
                artifact,
                thorough=self.thorough,
                baselines=beside,
                checker=checker,
                allowance=self.allowance,
                begun=begun,
            )
        self._check_plausible(outcome)
        return outcome

    def _check_plausible(self, outcome: Outcome) -> None:
        """Hold times against the floor; before anything is refused, the ceilings are measured again."""
        floors = self.place.floors
        if not self.place.guards.byte_floor:
            return
        try:
            verdict.check_plausible(outcome, self.candidate.id, floors.byte_floor_us(outcome.workload))
        except Rejection:
            floors.measure_again()
            verdict.check_plausible(outcome, self.candidate.id, floors.byte_floor_us(outcome.workload))

    def _checker(self, workload: str, beside: Sequence[Contestant]) -> Contestant | None:
        """Whose outputs timed outputs are compared with: the quickest of torch's, since it runs in every round."""
        records = self.place.baselines.records

        def time_us(contestant: Contestant) -> float:
            record = records.get(contestant.name)
            found = record.latency_us.get(workload) if record is not None else None
            return found.median if found is not None else math.inf

        ours = [b for b in beside if b.name in TORCH_BASELINES]
        return min(ours, key=time_us, default=self._peer(workload) or (beside[0] if beside else None))

    def _peer(self, workload: str, rival: Candidate | None = None) -> Contestant | None:
        """A module of torch's for a module that is not timed beside one; None where none is needed.

        What collecting outputs and calls on their own cost is seen beside the checker. A kernel in C writes its outputs
        in place and needs no interpreter: beside it every module would seem to leave work for later.
        """
        if self.candidate.entry is not Entry.MODULE or (rival is not None and rival.entry is Entry.MODULE):
            return None
        with suppress(NotMeasured):
            return self.place.baselines.contestant("eager", workload)
        return None

    def _rival(self, bench: Bench, rival: tuple[Candidate, Path], stack: ExitStack) -> Contestant:
        other, artifact = rival
        try:
            contestant, _ = stack.enter_context(hosted(bench, other, artifact, bench.weights, self.allowance))
            prove(bench, contestant, self.thorough.families[:2], seed=None, fresh=False)
        except Rejection as rejection:
            told = rejection.failure.model_copy(
                update={"message": f"the other candidate did not pass: {rejection.failure.message}"}
            )
            raise Rejection(rejection.status, told) from rejection
        if other.id == self.candidate.id:
            contestant.name += "-again"
        return contestant

    def _baselines(self, workload: str, against: Sequence[str]) -> list[Contestant]:
        baselines = self.place.baselines
        order = sorted(against, key=lambda n: n != self.place.best_baseline)
        baselines.build_all(order, self.place.benches[workload].progress)
        found = []
        for name in order:
            try:
                found.append(baselines.contestant(name, workload))  # brought up once more where it is not
            except NotMeasured as reason:
                if name == self.place.best_baseline:
                    message = f"the best baseline, {name}, does not come up any more: {reason}"
                    raise JudgeError(message, hint="without it a speed-up would be over a weaker one") from reason
                self.absent[name] = str(reason)
        return found

    def _passed(self) -> Evaluation:
        floors = {w.name: self.place.floors.floor_us(w.name) for w in self.place.task.workloads}
        drawn = verdict.draw_up(self.place.task, self.candidate.id, self.outcomes, floors, self.place.best_baseline)
        dtypes = [t.dtype for t in next(iter(self.place.benches.values())).described.outputs]
        stated = stated_precision(self.candidate, dtypes, max(o.tally.error_rms for o in self.outcomes))
        absent = sorted(self.absent.items())
        prepared = [o.prepare_us for o in self.outcomes if o.prepare_us is not None]
        return self._evaluation(
            Status.PASSED,
            Level.MEASURED,
            workloads=drawn.workloads,
            speedup=drawn.speedup,
            best_baseline=drawn.best_baseline,
            regressed=drawn.regressed,
            prepare_us=max(prepared) if prepared else None,
            notes=(
                stated,
                *drawn.notes,
                *(note for o in self.outcomes for note in o.notes),
                *(f"{name} did not come up this time and is not compared with: {why}" for name, why in absent),
            ),
            raw=verdict.raw_samples(self.outcomes),
        )

    def _evaluation(self, status: Status, level: Level, *, notes: Sequence[str] = (), **fields: Any) -> Evaluation:
        return Evaluation(
            candidate_id=self.candidate.id,
            task_id=self.place.task.id,
            status=status,
            level=level,
            depth=self.depth,
            device=self.place.settings.device,
            static_notes=(*self.place.guards.notes, *scan(self.candidate, self.place.task.policy), *notes),
            environment=self.place.environment,
            sandbox=tier(),
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            build_s=round(self.clock.build_s, 4),
            measure_s=round(self.clock.measure_s, 4),
            own_s=round(self.clock.own_s(), 4),
            **fields,
        )
