"""The judge's end of the reference worker: descriptions, draws of inputs, weights and expected values.

Owns asking; what runs the reference is toolexec/workers/reference_host.py.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.errors import ReferenceBroken
from kernelwright.records import Task, Workload, content_hash
from kernelwright.tasks.source import with_overrides
from kernelwright.toolexec.cache import write_atomically
from kernelwright.toolexec.judge.described import Described
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.numerics import Expected
from kernelwright.toolexec.precision import Array
from kernelwright.toolexec.workers.arena import lay_out
from kernelwright.toolexec.workers.kernel import TensorSpec

TIMEOUT_S = 120.0
FRUGAL = {
    "MALLOC_MMAP_MAX_": "65536",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 20),
    "MALLOC_TOP_PAD_": str(1 << 17),
}
"""Nothing is timed in this process: it gives memory back as soon as it is free."""
FACTS_VERSION = 3
"""Raise it when the description changes."""


@dataclass(frozen=True)
class Influence:
    """What moves a reference's results."""

    inputs: dict[str, bool]
    """Input -> does changing it change a result?"""
    parameters: dict[str, bool]
    """The same of parameters; buffers are not asked."""
    untried: int
    """Parameters that were not tried, for want of time."""


class Reference:
    """A task's reference in its own process, at all its workloads.

    Args:
        task: the task.
        pool: where its worker comes from.
        threads: threads it may use.
    """

    def __init__(self, task: Task, pool: WorkerPool, threads: int) -> None:
        self.task = task
        self.described: dict[str, Described] = {}
        self.relations: frozenset[str] | None = None
        """Relations of judge/relations.py that its results obey; None while it was not asked."""
        self._threads = threads
        self._worker = pool.start_trusted("reference", FRUGAL)
        self._weights: dict[str, int | None] = {}
        folder = self._folder = pool.root / "reference"
        folder.mkdir(exist_ok=True)
        self.files: dict[str, Path] = {}
        for i, workload in enumerate(task.workloads):
            path = folder / f"reference_{i}.py"
            path.write_text(with_overrides(task.reference, workload.set), encoding="utf-8")
            self.files[workload.name] = path

    @property
    def waited_s(self) -> float:
        """Seconds the judge waited for it."""
        return self._worker.waited_s

    def about(self) -> dict[str, str]:
        """``blas`` behind torch."""
        told = self._call("about", "")
        return {"blas": str(told.get("blas", ""))}

    def load(self, seed: int) -> None:
        """Import and build the module at every workload, and describe its border (not yet its graph).

        Raises:
            ReferenceBroken: it raises.
        """
        for workload in self.task.workloads:
            given = self._worker.bring(self.files[workload.name])
            self._call("load", workload.name, path=str(given), threads=self._threads)
            self._describe(workload.name, seed, export=False)

    def add(self, workload: Workload, seed: int) -> None:
        """One workload more, that the task does not declare.

        Raises:
            ReferenceBroken, TaskError: it is none that the reference can do.
        """
        path = self._folder / f"further_{len(self.files)}.py"
        path.write_text(with_overrides(self.task.reference, workload.set), encoding="utf-8")
        self.files[workload.name] = path
        self._call("load", workload.name, path=str(self._worker.bring(path)), threads=self._threads)
        self._describe(workload.name, seed, export=False)

    def export(self, seed: int, cache_dir: Path) -> None:
        """Describe again, with the exported graph; kept in ``cache_dir`` by text and torch's version."""
        for workload in self.task.workloads:
            text = self.files[workload.name].read_text(encoding="utf-8")
            path = cache_dir / "facts" / f"{content_hash([FACTS_VERSION, text, version('torch')])}.json"
            try:
                told = json.loads(path.read_text(encoding="utf-8"))
                self.described[workload.name] = Described.of(workload.name, told)
            except (OSError, ValueError, KeyError, TypeError):
                write_atomically(path, json.dumps(self._describe(workload.name, seed, export=True)))

    def draw(self, workload: str, seed: int) -> list[Array]:
        """get_inputs() under a seed, as arrays of the judge's own."""
        specs = self.described[workload].inputs
        places, end = lay_out(specs)
        self._grow(end)
        self._call("draw", workload, seed=seed, at=places)
        return [np.array(self._worker.arena.array(at, s)) for at, s in zip(places, specs, strict=True)]

    def weights(self, workload: str, seed: int | None) -> list[Array]:
        """Set the weights that :meth:`expect` uses, and hand them out: the module's own (None) or random ones."""
        specs = self.described[workload].parameters
        places, end = lay_out(specs)
        self._grow(end)
        self._call("weights", workload, seed=seed, at=places)
        self._weights[workload] = seed
        return [np.array(self._worker.arena.array(at, s)) for at, s in zip(places, specs, strict=True)]

    def expect(self, workload: str, inputs: Sequence[Array], weights_seed: int | None) -> list[Expected]:
        """What is right on ``inputs`` under a weight set.

        Raises:
            ReferenceBroken: it raises, or its results changed shape.
        """
        if self._weights.get(workload, -1) != weights_seed:
            self.weights(workload, weights_seed)
        reference, exact = self._run(workload, inputs)
        outputs, terms = self.described[workload].outputs, self.described[workload].facts.longest_sum
        return [Expected.of(e, r, o.dtype, terms) for e, r, o in zip(exact, reference, outputs, strict=True)]

    def results(self, workload: str, inputs: Sequence[Array]) -> list[Array]:
        """The reference's results as written, under the weights last set."""
        return [np.array(a) for a in self._run(workload, inputs)[0]]

    def influence(self, workload: str, inputs: Sequence[Array]) -> Influence:
        """Which inputs and parameters move the float64 result on ``inputs``, under the module's own weights."""
        self.weights(workload, None)
        told = self._call("influence", workload, at=self._place(workload, inputs))
        moved = {kind: {str(n): bool(m) for n, m in told[kind].items()} for kind in ("inputs", "parameters")}
        return Influence(**moved, untried=int(told["untried"]))

    def changed(self, workload: str, inputs: Sequence[Array]) -> list[str]:
        """Names of the module's buffers that one call changes."""
        places = self._place(workload, inputs)
        return [str(name) for name in self._call("changed", workload, at=places)["names"]]

    def close(self) -> None:
        """End its process."""
        self._worker.close()

    def _run(self, workload: str, inputs: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        """Results as written (views, valid until the next call) and exact ones (copies)."""
        described = self.described[workload]
        places, arena = self._place(workload, inputs), self._worker.arena
        end = lay_out(described.inputs)[1]
        told = self._call("expect", workload, at=places, start=end)
        if "needed" in told:
            self._grow(int(told["needed"]))
            told = self._call("expect", workload, at=places, start=end)
        groups: list[list[Array]] = []
        for kind in ("reference", "exact"):
            specs = [TensorSpec("result", t["dtype"], tuple(t["shape"])) for t in told[kind]]
            if [s.shape for s in specs] != [s.shape for s in described.outputs]:
                raise ReferenceBroken(f"workload {workload}: the reference's results change their shape between calls")
            groups.append([arena.array(int(t["at"]), s) for t, s in zip(told[kind], specs, strict=True)])
        return groups[0], [np.array(a) for a in groups[1]]

    def _place(self, workload: str, inputs: Sequence[Array]) -> list[int]:
        """Write inputs into the arena; where they lie."""
        specs = self.described[workload].inputs
        places, end = lay_out(specs)
        self._grow(end)
        for at, spec, array in zip(places, specs, inputs, strict=True):
            np.copyto(self._worker.arena.array(at, spec), array)
        return places

    def _describe(self, workload: str, seed: int, *, export: bool) -> dict[str, Any]:
        told = self._call("describe", workload, seed=seed, export=export)
        self.described[workload] = Described.of(workload, told)
        return told

    def _grow(self, size: int) -> None:
        if size > self._worker.arena.size:
            self._worker.arena.grow(size)
            self._worker.call("arena", TIMEOUT_S, size=self._worker.arena.size)

    def _call(self, op: str, workload: str, **fields: Any) -> dict[str, Any]:
        try:
            return self._worker.call(op, TIMEOUT_S, key=workload, **fields)
        except WorkerFailure as failure:
            doing = {"load": "building Model", "describe": "get_inputs() or forward", "draw": "get_inputs()"}
            raise ReferenceBroken(
                f"workload {workload}: the reference failed in {doing.get(op, 'forward')}: {failure.message}",
                hint=failure.log[-800:],
            ) from failure
