"""A session on device ``none``: candidates are built and looked at, nothing is run, and no verdict claims more.

Owns level ``compiled``: UNJUDGED evaluations with static facts, and failures that a compiler or a launch's own numbers
show. It implements kernelwright.protocols.EvaluationSession; of a stranger's code only the reference runs, in a worker.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernelwright.errors import UnknownName
from kernelwright.protocols import BuildResult, Device, JudgeSettings, Progress
from kernelwright.records import (
    Baseline,
    Candidate,
    Ceilings,
    Depth,
    Environment,
    Evaluation,
    Failure,
    KernelFacts,
    Level,
    Profile,
    Status,
    Task,
    TaskFacts,
)
from kernelwright.toolexec.judge.baselines import facts_of
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.reference import Reference
from kernelwright.toolexec.languages import cuxray, language
from kernelwright.toolexec.languages.code_diff import changed_facts, code_diff
from kernelwright.toolexec.languages.cubin import CubinError
from kernelwright.toolexec.languages.static_facts import TellsStatics
from kernelwright.toolexec.sandbox.tiers import probe
from kernelwright.toolexec.static_profile import static_profile
from kernelwright.toolexec.static_scan import scan

NOT_RUN = "compiled only: not run, so neither its results nor its time are known"


class CompiledSession:
    """A task on a machine without a device to run on.

    Args:
        task: the task.
        settings: what may be spent; baselines are ignored, since nothing is timed.
        device: ``none``.
        progress: told what happens.
    """

    def __init__(self, task: Task, settings: JudgeSettings, device: Device, *, progress: Progress | None) -> None:
        self.task = task
        self.settings = settings
        self.device = device
        self.baselines: Sequence[Baseline] = ()
        self.ceilings = Ceilings()
        self.environment: Environment = device.environment(threads=settings.threads)
        self.facts = TaskFacts(task_id=task.id, workloads=())
        self._progress = progress
        self._pool = WorkerPool(threads=settings.threads, memory_limit_gib=settings.memory_limit_gib)
        self._cache = settings.cache_dir or Path(tempfile.mkdtemp(prefix="cache-", dir=self._pool.root))

    def start(self) -> None:
        """Run the reference once at each workload, for shapes and work.

        Raises:
            ReferenceBroken: it raises.
        """
        if self._progress:
            self._progress("prepare", {"message": f"describing {self.task.name}; nothing is timed on device none"})
        reference = Reference(self.task, self._pool, self.settings.threads)
        try:
            seed = secrets.randbelow(2**31 - 1)
            reference.load(seed)
            reference.export(seed, self._cache)
            self.facts = facts_of(self.task, reference)
        finally:
            reference.close()

    def evaluate(
        self, candidate: Candidate, *, depth: Depth, against: Sequence[str] = (), deadline_s: float | None = None
    ) -> Evaluation:
        """Build one candidate and say what its code is made of; ``depth`` changes nothing here.

        Raises:
            UnknownName: ``against`` names a baseline; there are none.
        """
        if against:
            raise UnknownName("baseline", against[0], ())
        return self._evaluate(candidate, depth, deadline_s)

    def compare(self, candidate: Candidate, other: Candidate, *, depth: Depth) -> Evaluation:
        """Build both; the notes say which static facts differ. Neither is called better."""
        mine = self._evaluate(candidate, depth, None)
        others = self._evaluate(other, depth, None)
        if others.status is not Status.UNJUDGED:
            assert others.failure is not None
            notes: tuple[str, ...] = (f"the other candidate: {others.status}: {others.failure.message}",)
        else:
            notes = tuple(changed_facts(others.kernels, mine.kernels))
        return mine.model_copy(update={"static_notes": (*mine.static_notes, *notes)})

    def difference(self, candidate: Candidate, other: Candidate, *, kind: str) -> str:
        """A unified diff from ``other`` to ``candidate``.

        Args:
            candidate: the newer one.
            other: the older one.
            kind: ``ptx`` or ``sass``.

        Returns:
            "" when they are alike; a sentence when one of them does not build or cannot be disassembled.
        """
        built = [self._build(c, None)[0] for c in (other, candidate)]
        for one in built:
            if not one.ok or one.artifact is None:
                return f"no difference: {one.log.splitlines()[0] if one.log else 'a candidate does not build'}\n"
        old, new = (b.artifact for b in built)
        assert old is not None and new is not None
        return code_diff(old, new, kind=kind)

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """Static metrics, and a bottleneck that is marked as a guess."""
        return static_profile(candidate, evaluation, self.facts)

    def export(self, candidate: Candidate) -> str:
        """A self-contained ModelNew file."""
        return language(candidate.language.value).export(candidate, self.task, self.facts)

    def close(self) -> None:
        """End the reference's worker and remove temporary files. Idempotent."""
        self._pool.close()

    def __enter__(self) -> CompiledSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _evaluate(self, candidate: Candidate, depth: Depth, deadline_s: float | None) -> Evaluation:
        start = looked_at = time.monotonic()

        def verdict(status: Status, failure: Failure | None = None, **fields: Any) -> Evaluation:
            build_s, own_s = looked_at - start, time.monotonic() - looked_at
            return self._evaluation(candidate, depth, status, failure, build_s=build_s, own_s=own_s, **fields)

        built, workload = self._build(candidate, deadline_s)
        looked_at = time.monotonic()

        if not built.ok or built.artifact is None:
            first = next((line for line in built.log.splitlines() if line.strip()), "it does not build")
            failure = Failure(check="build", message=first[:300], workload=workload, log_tail=built.log[-1500:])
            return verdict(Status.COMPILE_ERROR, failure)
        made = language(candidate.language.value)
        if not isinstance(made, TellsStatics):
            return verdict(Status.UNJUDGED, notes=("a language without static facts of its code",))
        try:
            known = made.statics(built.artifact, candidate, self.facts)
        except CubinError as error:
            return verdict(Status.COMPILE_ERROR, Failure(check="build", message=str(error)[:300]))
        looked_at = time.monotonic()  # compilers and disassembler alike are waited for
        if known.problems:
            told = "\n".join(known.problems)[:1400]
            failure = Failure(check="launch", message=known.problems[0][:300], log_tail=told)
            return verdict(Status.RUNTIME_ERROR, failure, kernels=known.kernels, notes=known.notes)
        suggested = self._suggested(built, known.kernels)
        return verdict(Status.UNJUDGED, kernels=known.kernels, notes=(*known.notes, *suggested))

    def _suggested(self, built: BuildResult, kernels: Sequence[KernelFacts]) -> list[str]:
        """What a second source says of the cubin, where it is installed."""
        cubin = built.artifact / "kernel.cubin" if built.artifact is not None else None
        if cubin is None or not cubin.is_file():
            return []
        threads = next((k.block_threads for k in kernels if k.block_threads), None)
        return cuxray.suggestions(cubin, threads=threads, folder=self._cache / "builds")

    def _build(self, candidate: Candidate, deadline_s: float | None) -> tuple[BuildResult, str]:
        """The build, and the workload that it failed at."""
        builds = self._cache / "builds"
        builds.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + min(self.settings.build_timeout_s, deadline_s or self.settings.build_timeout_s)
        try:
            made = language(candidate.language.value)
        except UnknownName as error:
            return BuildResult(False, None, f"{error.message}: this version cannot build it", 0.0), ""
        result = BuildResult(False, None, "the task has no workload", 0.0)
        for workload in self.facts.workloads:
            left = max(until - time.monotonic(), 0.1)
            name = workload.workload
            result = made.build(candidate, self.facts, workload=name, folder=builds, timeout_s=left)
            if not result.ok:
                return result, name
        return result, ""

    def _evaluation(
        self,
        candidate: Candidate,
        depth: Depth,
        status: Status,
        failure: Failure | None,
        *,
        build_s: float,
        own_s: float,
        kernels: tuple[KernelFacts, ...] = (),
        notes: Sequence[str] = (),
    ) -> Evaluation:
        return Evaluation(
            candidate_id=candidate.id,
            task_id=self.task.id,
            status=status,
            level=Level.COMPILED,
            depth=depth,
            device=self.settings.device,
            failure=failure,
            kernels=kernels,
            static_notes=(NOT_RUN, *scan(candidate, self.task.policy), *notes),
            environment=self.environment,
            sandbox=probe().name,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            build_s=round(build_s, 4),
            own_s=round(max(own_s, 0.0), 4),
        )
