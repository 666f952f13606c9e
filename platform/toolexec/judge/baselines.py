"""The baselines of a task: built, judged like candidates, timed beside each other, the best one named.

Owns their processes and their cached times. Cached times only rank: every quoted ratio is measured live.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kernelwright.protocols import JudgeSettings, Progress
from kernelwright.records import (
    Baseline,
    Candidate,
    Entry,
    Interval,
    SourceFile,
    Task,
    TaskFacts,
    content_hash,
)
from kernelwright.toolexec.cache import write_atomically
from kernelwright.toolexec.judge.contestant import BaselineFailed, Contestant
from kernelwright.toolexec.judge.gpu_side import ROLE, TORCH_ROLE, GpuSide
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.reference import Reference
from kernelwright.toolexec.judge.worker import Worker
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.languages import language
from kernelwright.toolexec.languages.compiling import cxx_compiler, machine_flags
from kernelwright.toolexec.precision import Array

log = logging.getLogger(__name__)

VERSION = 4
"""Of the cache's content; raise it when what is measured changes."""
COMPILE_LIMIT_S = 90.0
"""How long torch.compile may take before its row says so."""
DESCRIPTIONS = {
    "eager": "the reference as written",
    "compile": "torch.compile",
    "compile-max": "torch.compile, max-autotune with freezing",
    "onednn": "the module converted by torch.utils.mkldnn",
    "cuda-graph": "the max-autotuned module, captured as a CUDA graph",
    "start-O2": "the start kernel at -O2",
    "start-O3": "the start kernel at -O3 -march=native",
}
INDUCTOR = {"TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"} | (
    {"TORCHINDUCTOR_VEC_ISA_OK": "1"} if platform.machine() == "x86_64" else {}
)
"""No precompiled headers: one kernel or two do not win back what making them costs (17.6 against 13.3 processor seconds
for a small module). And believe the processor's flags: else Inductor first compiles a test program for each vector
extension, 16 processor seconds of the 26 that a first torch.compile took."""
TORCH_BASELINES = ("eager", "compile", "compile-max", "onednn", "cuda-graph")
MAY_TUNE = ("compile", "compile-max", "cuda-graph")
PRODUCTS = re.compile(r"matmul|mm\b|mv\b|@|linear|conv|einsum|bilinear|attention|LSTM|GRU|RNN", re.IGNORECASE)
"""What of a reference torch.compile has several kernels for on a processor."""
NEEDS_COMPILER = ("compile", "compile-max", "cuda-graph", "start-O2", "start-O3")


@dataclass
class Built:
    """A baseline that is up: one contestant per workload."""

    name: str
    contestants: dict[str, Contestant] = field(default_factory=dict)
    build_s: float = 0.0
    workers: list[Worker] = field(default_factory=list)


LASTING = ("runtime", "compile", "shape", "dtype")
"""Kinds of failure that are the module's or the kernel's; a process that ended, or took too long, is the day's."""


class NotMeasured(Exception):
    """Why a baseline cannot be measured here, in words for the table.

    Args:
        why: one line.
        lasting: will it be so tomorrow?
    """

    def __init__(self, why: str, *, lasting: bool = True) -> None:
        super().__init__(why)
        self.lasting = lasting


class BaselineSet:
    """All baselines of a session.

    Args:
        task: the task.
        settings: which are asked for, limits, cache.
        pool: where processes come from.
        reference: the task's reference, loaded.
        cache_dir: for the compilers' caches and the times.
        gpu: where they run; None means the processor.
    """

    def __init__(
        self,
        task: Task,
        settings: JudgeSettings,
        pool: WorkerPool,
        reference: Reference,
        *,
        cache_dir: Path,
        gpu: GpuSide | None = None,
    ) -> None:
        self.task = task
        self._gpu = gpu
        self._made = Contestant if gpu is None else gpu.contestant
        self.settings = settings
        self.records: dict[str, Baseline] = {}
        self._pool = pool
        self._reference = reference
        self.weights: dict[str, list[Array]] = {}
        """Workload -> the module's own weights; set before anything is built."""
        self._cache_dir = cache_dir
        self._up: dict[str, Built] = {}
        self._ahead: dict[str, Worker] = {}
        self._all_lasting = True

    def wanted(self) -> list[str]:
        """Names of the rows of the table."""
        names: list[str] = []
        for name in self.settings.baselines:
            if name == "start":
                names += ["start-O2", "start-O3"] if self.task.start is not None else []
            else:
                names.append(name)
        return names

    def start_ahead(self, names: Sequence[str]) -> None:
        """Start torch processes now, so that they import torch while other things happen.

        The slow compilers' where there are some: eager waits for these anyway, and needs no memory while they do.
        Few modules have a oneDNN form, and whether this one has is not known yet.
        """
        slow = [n for n in names if n in ("compile", "compile-max") and self._possible(n)]
        for name in slow or [n for n in names if n == "eager"]:
            if name not in self._ahead:
                self._ahead[name] = self._torch_worker(name)

    def build_all(
        self, names: Sequence[str], progress: Progress, meanwhile: Callable[[], None] = lambda: None
    ) -> list[str]:
        """Bring several up, the slow compilers beside each other, those that tune alone; those that are up stay.

        Args:
            names: which.
            progress: told of each.
            meanwhile: done in this thread while they build; must not use their workers.

        Returns:
            Names of those that are up; the others have a record that says why not.
        """
        missing = [n for n in names if n not in self._up]
        alone = [n for n in missing if self._tunes(n)]
        with ThreadPoolExecutor(max_workers=max(2, min(4, os.cpu_count() or 2))) as threads:
            order = sorted(set(missing) - set(alone), key=lambda n: n not in ("compile", "compile-max"))
            futures: dict[str, Future[Built]] = {n: threads.submit(self._build, n) for n in order}
            try:
                meanwhile()
            finally:  # whatever happens meanwhile, what came up is kept
                for name in order:
                    self._note(name, futures[name].result, progress)
        for name in alone:
            self._note(name, partial(self._build, name), progress)
        return [n for n in names if n in self._up]

    def _note(self, name: str, built: Callable[[], Built], progress: Progress) -> None:
        try:
            self._up[name] = built()
            progress("baseline", {"name": name, "state": "built", "build_s": self._up[name].build_s})
        except NotMeasured as reason:
            self._all_lasting &= reason.lasting
            self.give_up(name, str(reason))
            progress("baseline", {"name": name, "state": "not measured", "why": str(reason)})

    def _tunes(self, name: str) -> bool:
        """Will its compiler time kernels to choose between them? What else ran then would choose with it, and the
        choice is kept. On a GPU all of the compiled ones do; on a processor, max-autotune where there are products."""
        if name not in MAY_TUNE or self._kept_inductor.exists():
            return False
        return self._gpu is not None or (name == "compile-max" and bool(PRODUCTS.search(self.task.reference)))

    @property
    def _kept_inductor(self) -> Path:
        """What torch.compile made for this task on such a processor; no task writes what another one reads."""
        return self._cache_dir / "inductor" / content_hash([VERSION, self.task.id, machine_flags()], length=24)

    def give_up(self, name: str, why: str) -> None:
        """Note that a baseline is not measured, and end its process. One that was measured before keeps its times."""
        if name not in self.records or not self.records[name].latency_us:
            told = DESCRIPTIONS[name]
            self.records[name] = Baseline(name=name, description=told, not_measured=why)  # type: ignore[arg-type]
        self.stop(name)
        ahead = self._ahead.pop(name, None)
        if ahead is not None:
            self._pool.release(ahead)

    def contestant(self, name: str, workload: str) -> Contestant:
        """A live contestant of a measured baseline, brought up where it is not.

        Raises:
            NotMeasured: it cannot be brought up any more.
        """
        if name not in self._up:
            self._up[name] = self._build(name)
        return self._up[name].contestants[workload]

    def second_process(self, name: str, workload: str) -> Built:
        """Another process of a baseline at one workload; end it with :meth:`stop_built`.

        Raises:
            NotMeasured: it cannot be brought up any more.
        """
        return self._build(name, [workload])

    def stop(self, name: str) -> None:
        """End a baseline's processes; it can be brought up again."""
        built = self._up.pop(name, None)
        if built is not None:
            self.stop_built(built)

    def stop_others(self, name: str) -> None:
        """End all but one baseline's processes: each holds hundreds of megabytes."""
        for other in [n for n in self._up if n != name]:
            self.stop(other)

    def stop_built(self, built: Built) -> None:
        """End the processes of one that was built."""
        for worker in built.workers:
            self._pool.release(worker)

    def workers(self) -> list[Worker]:
        """All live processes."""
        return [w for built in self._up.values() for w in built.workers]

    def load_cached(self, key: str) -> bool:
        """Records of an earlier session on this machine; True when they are there and complete."""
        path = self._cache_dir / "baselines" / f"{key}.json"
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            records = {r["name"]: Baseline.from_json(r) for r in told["baselines"]}
        except (OSError, ValueError, KeyError, TypeError):
            return False
        if set(records) != set(self.wanted()):
            return False
        self.records = records
        return True

    def store(self, key: str) -> None:
        """Keep the records for later sessions, unless one is missing for a reason that may be the day's."""
        if not self._all_lasting:
            return
        told = {"format": "kernelwright/baselines/1", "baselines": [r.to_json() for r in self.records.values()]}
        write_atomically(self._cache_dir / "baselines" / f"{key}.json", json.dumps(told))

    def record(self, name: str, latency_us: dict[str, Interval], *, best: bool) -> None:
        """Note a baseline's times."""
        build_s = self._up[name].build_s if name in self._up else 0.0
        self.records[name] = Baseline(
            name=name,  # type: ignore[arg-type]
            description=DESCRIPTIONS[name],
            latency_us=latency_us,
            build_s=round(build_s, 3),
            best=best,
        )

    def _build(self, name: str, only: Sequence[str] = ()) -> Built:
        """Bring a baseline up at the workloads named, or at all."""
        if not self._possible(name):
            if not (name.startswith("start") and self.task.start and self.task.start.language != "cpp"):
                raise NotMeasured("no C++ compiler")
        if name == "onednn" and not all(d.onednn_form for d in self._reference.described.values()):
            raise NotMeasured("no layer of this module has a oneDNN form")
        start = time.monotonic()
        try:
            built = self._torch(name, only) if name in TORCH_BASELINES else self._start_kernel(name, only)
        except (WorkerFailure, BaselineFailed) as error:
            failure = error.failure if isinstance(error, BaselineFailed) else error
            if failure.kind == "timeout":
                raise NotMeasured(f"took more than {COMPILE_LIMIT_S:.0f} s", lasting=False) from error
            raise NotMeasured(failure.message[:300], lasting=failure.kind in LASTING) from error
        built.build_s = time.monotonic() - start
        return built

    def _torch(self, name: str, only: Sequence[str]) -> Built:
        worker = self._ahead.pop(name, None) or self._torch_worker(name)
        built = Built(name, workers=[worker])
        wanted = [(i, w) for i, w in enumerate(self.task.workloads) if not only or w.name in only]
        try:
            for i, workload in wanted:
                described = self._reference.described[workload.name]
                spec = described.baseline_spec(self._reference.files[workload.name], name, self.settings.threads)
                built.contestants[workload.name] = self._bring_up(
                    self._made(name, worker, str(i), spec, trusted=True), workload.name
                )
        except BaseException:
            self._pool.release(worker)
            raise
        return built

    def _torch_worker(self, name: str) -> Worker:
        role = "torch" if self._gpu is None else TORCH_ROLE
        if name not in MAY_TUNE:
            return self._pool.start_trusted(role)
        return self._pool.start_trusted(role, INDUCTOR, kept_inductor=self._kept_inductor)

    def _possible(self, name: str) -> bool:
        return name not in NEEDS_COMPILER or cxx_compiler() is not None

    def _bring_up(self, contestant: Contestant, workload: str) -> Contestant:
        contestant.limit_s = COMPILE_LIMIT_S
        contestant.load()
        contestant.set_weights(self.weights[workload])
        contestant.prepare()
        contestant.ensure_slots(1)
        contestant.arm([0])
        contestant.go()
        contestant.forget()
        return contestant

    def _start_kernel(self, name: str, only: Sequence[str]) -> Built:
        start = self.task.start
        assert start is not None
        spoken = language(start.language.value)
        candidate = Candidate(
            language=start.language,
            entry=Entry(spoken.entry),
            files=tuple(SourceFile(path=p, text=t) for p, t in start.files.items()),
            entry_file=start.entry_file,
            flags=("-O2",) if name == "start-O2" else (),
            architecture="generic" if name == "start-O2" else "native",
        )
        if name == "start-O2" and start.language.value != "cpp":
            raise NotMeasured("only a C++ start kernel has optimization levels")
        if self._gpu is not None and (reason := self._gpu.why_not(candidate)):
            raise NotMeasured(reason)
        build = spoken.build if self._gpu is None else self._gpu.build
        role = ROLE if self._gpu is not None else "torch" if spoken.entry == "module" else "kernel"
        built = Built(name)
        facts = facts_of(self.task, self._reference)
        folder = self._cache_dir / "builds"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for workload in [w for w in self.task.workloads if not only or w.name in only]:
                made = build(
                    candidate, facts, workload=workload.name, folder=folder, timeout_s=self.settings.build_timeout_s
                )
                if made.artifact is None:
                    raise NotMeasured(f"does not compile: {' '.join(made.log.split())[:300]}")
                worker = self._pool.take(role)
                built.workers.append(worker)
                spec = self._reference.described[workload.name].spec(candidate, made.artifact, self.settings.threads)
                built.contestants[workload.name] = self._bring_up(
                    self._made(name, worker, workload.name, spec, trusted=True), workload.name
                )
        except BaseException:
            self.stop_built(built)
            raise
        return built

    def close(self) -> None:
        """End all."""
        for name in [*self._up]:
            self.stop(name)


def facts_of(task: Task, reference: Reference) -> TaskFacts:
    """TaskFacts from the descriptions of all workloads."""
    return TaskFacts(task_id=task.id, workloads=tuple(reference.described[w.name].facts for w in task.workloads))


def cache_key(task: Task, machine_id: str, names: Sequence[str], threads: int) -> str:
    """Names the cached baselines of a task on a machine."""
    return content_hash([VERSION, task.id, machine_id, sorted(names), threads])
