"""A judging session: one task loaded, its baselines up, candidates judged one after the other.

Owns the session's life. It implements kernelwright.protocols.EvaluationSession and runs no stranger's code: that is the
workers'. How one candidate is judged is judge/evaluating.py's.
"""

from __future__ import annotations

import dataclasses
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.errors import UnknownName
from kernelwright.protocols import Device, JudgeSettings, Progress
from kernelwright.records import (
    Baseline,
    Candidate,
    Ceilings,
    Depth,
    Environment,
    Evaluation,
    LanguageName,
    Profile,
    Task,
    TaskFacts,
)
from kernelwright.toolexec.counting.counting import Counted, Work, count
from kernelwright.toolexec.floors import Floors
from kernelwright.toolexec.gpu_floors import GpuFloors
from kernelwright.toolexec.gpu_profile import gpu_profile
from kernelwright.toolexec.guards import ALL, Guards
from kernelwright.toolexec.judge import gpu_looking
from kernelwright.toolexec.judge.baselines import BaselineSet, cache_key, facts_of
from kernelwright.toolexec.judge.cases import CaseBook
from kernelwright.toolexec.judge.device_lock import DeviceLock
from kernelwright.toolexec.judge.emulating import Emulating
from kernelwright.toolexec.judge.evaluating import Evaluating, Workplace
from kernelwright.toolexec.judge.gpu_evaluating import GpuEvaluating
from kernelwright.toolexec.judge.gpu_side import ROLE, GpuSide
from kernelwright.toolexec.judge.judgement import Bench, role_of
from kernelwright.toolexec.judge.opening import open_baselines
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.reference import Reference
from kernelwright.toolexec.languages import language
from kernelwright.toolexec.preflight import examine, refuse_broken
from kernelwright.toolexec.profiler import profile_of, slowest

UNTIMED = ("emulated",)
"""Kinds of device that say right or wrong and nothing of time: no baselines, no ceilings."""


def silent(kind: str, data: Mapping[str, Any]) -> None:
    """Progress that nobody watches."""


class Session:
    """The judge with one task loaded.

    Args:
        task: the task.
        settings: what may be spent.
        device: where candidates run.
        lock: held while something is timed.
        progress: told what happens.
        guards: which of the judge's guards are on; all of them but in tests.
    """

    def __init__(
        self,
        task: Task,
        settings: JudgeSettings,
        device: Device,
        *,
        lock: DeviceLock,
        progress: Progress | None,
        guards: Guards = ALL,
    ) -> None:
        self.task = task
        self.timed = device.name.partition(":")[0] not in UNTIMED
        self.settings = settings if self.timed else dataclasses.replace(settings, baselines=())
        gpu = self._gpu = GpuSide.of(device)
        if gpu is not None:
            self.settings = dataclasses.replace(settings, baselines=gpu.baselines(settings.baselines))
        self.device = device
        self.guards = guards
        self.environment: Environment = device.environment(threads=settings.threads)
        self.facts = TaskFacts(task_id=task.id, workloads=())
        self._lock = lock
        self._progress: Progress = progress or silent
        self._rng = np.random.default_rng([settings.seed, secrets.randbits(64)])
        self._pool = WorkerPool(
            threads=settings.threads,
            memory_limit_gib=settings.memory_limit_gib,
            confined=guards.sandbox,
            gpu=gpu.place if gpu is not None else None,
        )
        self._cache = settings.cache_dir or Path(tempfile.mkdtemp(prefix="cache-", dir=self._pool.root))
        self._reference: Reference | None = None
        self._benches: dict[str, Bench] = {}
        self._set: BaselineSet | None = None
        known = self._cache, self.environment, self._pool
        self._floors = Floors(*known) if gpu is None else GpuFloors(*known, gpu)
        self._closed = False

    @property
    def baselines(self) -> Sequence[Baseline]:
        """Rows of the baselines table, in the order asked for."""
        return [self._baselines.records[n] for n in self._baselines.wanted() if n in self._baselines.records]

    @property
    def best_baseline(self) -> str:
        """Name of the best one; "" when none could be measured."""
        return next((b.name for b in self.baselines if b.best), "")

    @property
    def _baselines(self) -> BaselineSet:
        assert self._set is not None, "the session was not started"
        return self._set

    def start(self) -> None:
        """Load the task, prove and time its baselines, measure ceilings."""
        say = self._progress
        say("prepare", {"message": f"loading the reference of {self.task.name}"})
        seed = int(self._rng.integers(1, 2**31 - 1))
        reference = self._reference = Reference(self.task, self._pool, self.settings.threads)
        baselines = self._set = BaselineSet(
            self.task, self.settings, self._pool, reference, cache_dir=self._cache, gpu=self._gpu
        )
        key = cache_key(self.task, self.environment.machine_id, baselines.wanted(), self.settings.threads)
        cached = baselines.load_cached(key)
        baselines.start_ahead([self.best_baseline] if cached else baselines.wanted())
        reference.load(seed)
        self.environment = self.environment.model_copy(update=reference.about())
        weights = baselines.weights = {w.name: reference.weights(w.name, None) for w in self.task.workloads}
        names, guards = [w.name for w in self.task.workloads], self.guards
        books = {name: CaseBook(self.task, reference, name, self._rng, guards=guards) for name in names}
        findings = examine(self.task, reference, books)
        if self.guards.preflight:
            refuse_broken(findings)
        say("prepare", {"message": "describing the task and building its baselines"})
        if cached:
            reference.export(seed, self._cache)
            for record in self.baselines:
                say("baseline", {**record.to_json(), "cached": True})
        elif not self.timed:
            reference.export(seed, self._cache)
        else:
            open_baselines(
                self.task,
                baselines,
                books,
                lock=self._lock,
                threads=self.settings.threads,
                rng=self._rng,
                progress=say,
                meanwhile=lambda: reference.export(seed, self._cache),
                cores=None if self._gpu is None else self._gpu.cores,
            )
            baselines.store(key)
        self.facts = facts_of(self.task, reference)
        for name, book in books.items():
            self._benches[name] = Bench(
                settings=self.settings,
                pool=self._pool,
                lock=self._lock,
                progress=say,
                rng=self._rng,
                book=book,
                described=reference.described[name],
                weights=weights[name],
                gpu=self._gpu,
            )
        if self.timed:
            with self._lock.held(say):
                self._floors.load(self.facts)
        self._pool.refill("kernel" if self._gpu is None else ROLE)

    @property
    def ceilings(self) -> Ceilings:
        """What the machine was measured to be able to do."""
        return Ceilings(gbps=dict(self._floors.gbps), gflops=self._floors.gflops, rates=dict(self._floors.rates))

    def evaluate(
        self, candidate: Candidate, *, depth: Depth, against: Sequence[str] = (), deadline_s: float | None = None
    ) -> Evaluation:
        """Judge one candidate; see :class:`kernelwright.protocols.EvaluationSession`."""
        known = {b.name for b in self.baselines}
        for name in against:
            if name not in known:
                raise UnknownName("baseline", name, known)
        if not against:
            measured = [b.name for b in self.baselines if not b.not_measured]
            against = measured if depth is Depth.CONFIRMED else [self.best_baseline] if self.best_baseline else []
        judging = self._judging(self._workplace(), candidate, depth, deadline_s)
        return self._refilled(judging.run(list(against)), candidate)

    def compare(self, candidate: Candidate, other: Candidate, *, depth: Depth) -> Evaluation:
        """Judge ``candidate`` with ``other`` as its only baseline."""
        judging = self._judging(self._workplace(), candidate, depth, None)
        return self._refilled(judging.run([], other=other), candidate)

    @property
    def _judging(self) -> type[Evaluating]:
        """How candidates are judged on this device."""
        if self._gpu is not None:
            return GpuEvaluating
        return Evaluating if self.timed else Emulating

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """Metrics and bottleneck of a candidate that passed."""
        counted = self._counted(candidate, evaluation) if self.settings.counters else None
        if self._gpu is not None:
            return gpu_profile(candidate, evaluation, self.facts, self._floors, counted)
        return profile_of(candidate, evaluation, self.facts, self._floors, counted)

    def _counted(self, candidate: Candidate, evaluation: Evaluation) -> Counted | None:
        """What the kernel does at its slowest workload; None where it was not timed."""
        chosen = slowest(evaluation)
        if chosen is None or chosen.latency_us is None:
            return None
        bench, builds = self._benches[chosen.workload], self._workplace().builds
        if self._gpu is not None:
            limit_s = self.settings.build_timeout_s
            made = self._gpu.build(candidate, self.facts, workload=chosen.workload, folder=builds, timeout_s=limit_s)
            return gpu_looking.counted(bench, self._gpu, candidate, made.artifact)
        if candidate.language is not LanguageName.CPP:
            return Counted(notes=[f"Nothing is counted of a kernel in {candidate.language}, only of C++."])
        built = language(candidate.language.value).build(
            candidate, self.facts, workload=chosen.workload, folder=builds, timeout_s=self.settings.build_timeout_s
        )
        if built.artifact is None:
            return Counted(notes=[f"Not counted: {built.log[:100]}."])
        work = Work(
            candidate=candidate,
            facts=self.facts,
            workload=chosen.workload,
            spec=bench.described.spec(candidate, built.artifact, self.settings.threads),
            inputs=bench.book.reference.draw(chosen.workload, int(self._rng.integers(1, 2**31 - 1))),
            weights=bench.weights,
            latency_us=chosen.latency_us.median,
        )
        with self._lock.held(self._progress):
            return count(work, self.environment, self._cache)

    def export(self, candidate: Candidate) -> str:
        """A self-contained ModelNew file."""
        return language(candidate.language.value).export(candidate, self.task, self.facts)

    def close(self) -> None:
        """End all workers and remove temporary files."""
        if not self._closed:
            self._closed = True
            self._pool.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refilled(self, evaluation: Evaluation, candidate: Candidate) -> Evaluation:
        """Start a spare process for the next candidate, now that nothing is timed."""
        self._pool.refill(role_of(candidate) if self._gpu is None else self._gpu.role_of(candidate))
        return evaluation

    def _workplace(self) -> Workplace:
        builds = self._cache / "builds"
        builds.mkdir(parents=True, exist_ok=True)
        return Workplace(
            task=self.task,
            facts=self.facts,
            settings=self.settings,
            environment=self.environment,
            benches=self._benches,
            baselines=self._baselines,
            best_baseline=self.best_baseline,
            floors=self._floors,
            builds=builds,
            guards=self.guards,
        )
