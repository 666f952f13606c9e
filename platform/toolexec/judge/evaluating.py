"""One evaluation from build to verdict.

Owns the steps over all workloads and the bookkeeping of where the time went. The session lends it everything.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernelwright.errors import JudgeError, UnknownName
from kernelwright.protocols import JudgeSettings
from kernelwright.records import Candidate, Depth, Environment, Evaluation, Failure, Level, Status, Task, TaskFacts
from kernelwright.toolexec.floors import Floors
from kernelwright.toolexec.judge import verdict
from kernelwright.toolexec.judge.baselines import TORCH_BASELINES, BaselineSet, Built
from kernelwright.toolexec.judge.contestant import BaselineFailed, Contestant
from kernelwright.toolexec.judge.depths import DEPTHS
from kernelwright.toolexec.judge.judgement import Allowance, Bench, Outcome, hosted, judge, prove
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.judge.sandbox import tier
from kernelwright.toolexec.languages import language
from kernelwright.toolexec.static_scan import scan


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
        self.stack = ExitStack()
        self.control: Built | None = None

    def run(self, against: Sequence[str], other: Candidate | None = None) -> Evaluation:
        """Build, judge at every workload, draw up the verdict."""
        try:
            artifacts = self._build(self.candidate)
            others = self._build(other) if other is not None else {}
            start = time.monotonic()
            try:
                for workload in self.place.task.workloads:
                    artifact = artifacts[workload.name]
                    rival = (other, others[workload.name]) if other is not None else None
                    self.outcomes.append(self._judge_twice(workload.name, artifact, against, rival))
            finally:
                self.clock.measure_s = time.monotonic() - start
            return self._passed()
        except Rejection as rejection:
            return self._evaluation(rejection.status, Level.MEASURED, failure=rejection.failure)
        finally:
            self.stack.close()

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

    def _judge_twice(
        self, workload: str, artifact: Path, against: Sequence[str], rival: tuple[Candidate, Path] | None
    ) -> Outcome:
        """Judge; once more with a fresh baseline where one failed on the way."""
        try:
            return self._judge(workload, artifact, against, rival)
        except BaselineFailed as failed:
            self.place.baselines.stop(failed.name)
        try:
            return self._judge(workload, artifact, against, rival)
        except BaselineFailed as failed:
            self.place.baselines.stop(failed.name)
            raise JudgeError(str(failed), hint=failed.failure.log[-800:]) from failed

    def _judge(
        self, workload: str, artifact: Path, against: Sequence[str], rival: tuple[Candidate, Path] | None
    ) -> Outcome:
        bench = self.place.benches[workload]
        with ExitStack() as stack:
            if rival is not None:
                beside = [self._rival(bench, rival, stack)]
                checker: Contestant | None = beside[0]
            else:
                beside = self._baselines(workload, against)
                checker = self._checker(workload, beside)
            outcome = judge(
                bench,
                self.candidate,
                artifact,
                thorough=self.thorough,
                baselines=beside,
                checker=checker,
                allowance=self.allowance,
            )
        floor = self.place.floors.byte_floor_us(workload)
        try:
            verdict.check_plausible(outcome, self.candidate.id, floor)
        except Rejection:
            self.place.floors.measure_again()
            verdict.check_plausible(outcome, self.candidate.id, self.place.floors.byte_floor_us(workload))
        return outcome

    def _checker(self, workload: str, beside: Sequence[Contestant]) -> Contestant | None:
        """Whose outputs timed outputs are compared with: the quickest of torch's, since it runs in every round."""
        records = self.place.baselines.records

        def time_us(contestant: Contestant) -> float:
            record = records.get(contestant.name)
            found = record.latency_us.get(workload) if record is not None else None
            return found.median if found is not None else math.inf

        ours = [b for b in beside if b.name in TORCH_BASELINES]
        return min(ours, key=time_us, default=beside[0] if beside else None)

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
        if self.depth is Depth.CONFIRMED and not self.outcomes:
            baselines.restart(baselines.contenders(order))
        order = baselines.build_all(order, self.place.benches[workload].progress)
        found = [baselines.contestant(name, workload) for name in order]
        if self.thorough.control and found:
            if self.control is None:
                self.control = baselines.second_process(order[0])
                self.stack.callback(baselines.stop_built, self.control)
            found.append(self.control.contestants[workload])
            found[-1].name = order[0] + verdict.CONTROL
        return found

    def _passed(self) -> Evaluation:
        floors = {w.name: self.place.floors.floor_us(w.name) for w in self.place.task.workloads}
        drawn = verdict.draw_up(self.place.task, self.candidate.id, self.outcomes, floors, self.place.best_baseline)
        prepared = [o.prepare_us for o in self.outcomes if o.prepare_us is not None]
        return self._evaluation(
            Status.PASSED,
            Level.MEASURED,
            workloads=drawn.workloads,
            speedup=drawn.speedup,
            best_baseline=drawn.best_baseline,
            regressed=drawn.regressed,
            prepare_us=max(prepared) if prepared else None,
            notes=drawn.notes,
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
            static_notes=(*scan(self.candidate, self.place.task.policy), *notes),
            environment=self.place.environment,
            sandbox=tier(),
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            build_s=round(self.clock.build_s, 4),
            measure_s=round(self.clock.measure_s, 4),
            own_s=round(self.clock.own_s(), 4),
            **fields,
        )
