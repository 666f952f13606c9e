"""The machine's limits: bandwidth by working-set size, rates by dtype, and the floor they put under a task.

Owns the ceilings' cache. floor = max(compulsory bytes / bandwidth of the cache level the working set fits, FLOPs /
rate). The byte floor is hard (faster is not believed); the FLOP floor is soft, since algebra may remove FLOPs.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kernelwright.errors import JudgeError
from kernelwright.records import Environment, TaskFacts, WorkloadFacts, content_hash
from kernelwright.toolexec.cache import write_atomically
from kernelwright.toolexec.devices.cpu import measuring_cores
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.standstill import pin_surely
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.languages.compiling import cxx_compiler, openmp_flags, run_compiler

log = logging.getLogger(__name__)

FORMAT = "kernelwright/ceilings/2"
SOURCE = Path(__file__).parent / "workers" / "ceilings.cpp"
FLAGS = ("-O3", "-march=native", "-ffast-math", "-std=c++17", "-shared", "-fPIC")
SIZES = tuple(1 << n for n in range(14, 29, 2))
"""Working sets in bytes at which bandwidth is measured."""
TIMEOUT_S = 60.0
MEASURE_AGAIN = 3


class Floors:
    """Ceilings of this machine, and floors of a task under them.

    Args:
        cache_dir: where ceilings are kept, by machine, threads and what measured them.
        environment: the machine.
        pool: where the measuring worker comes from.
    """

    def __init__(self, cache_dir: Path, environment: Environment, pool: WorkerPool) -> None:
        made_by = content_hash([SOURCE.read_text(encoding="utf-8"), FLAGS, SIZES], length=8)
        self._path = cache_dir / "ceilings" / f"{environment.machine_id}-{made_by}.json"
        self._threads = environment.threads
        self._pool = pool
        self._facts: dict[str, WorkloadFacts] = {}
        self.gbps: dict[int, float] = {}
        """Working set in bytes -> bandwidth, never rising with size."""
        self.gflops = 0.0
        """float32 rate."""
        self.rates: dict[str, float] = {}
        """Of other types."""
        self._again = 0

    def load(self, facts: TaskFacts) -> None:
        """Have ceilings, from the cache or measured now."""
        self._facts = {w.workload: w for w in facts.workloads}
        if not self._read():
            self._measure()

    def measure_again(self) -> None:
        """Measure once more and keep the highest; a few times a session at most, since each takes seconds."""
        if self._again < MEASURE_AGAIN:
            self._again += 1
            self._measure()

    def bandwidth_gbps(self, working_set: int) -> float:
        """Bandwidth of the level that a working set fits: that of the largest measured size not above it."""
        below = [size for size in self.gbps if size <= working_set]
        return self.gbps[max(below)] if below else max(self.gbps.values(), default=0.0)

    def byte_floor_us(self, workload: str) -> float | None:
        """Time to move the compulsory bytes; None when they are not known."""
        facts = self._facts[workload]
        rate = self.bandwidth_gbps(facts.compulsory_bytes)
        if not rate or facts.export_error or not facts.compulsory_bytes:
            return None
        return facts.compulsory_bytes / rate / 1e3

    def flop_floor_us(self, workload: str) -> float | None:
        """Time for the FLOPs at the rate of its inputs' type; None when that is unknown, or they have several."""
        facts = self._facts[workload]
        inputs = {a.dtype for a in facts.of_kind("input")}
        types = {t for t in inputs if t.startswith(("float", "bfloat"))} or inputs & {"int8", "uint8"}
        rates = {**self.rates, "uint8": self.rates.get("int8", 0.0), "float32": self.gflops}
        rate = rates.get(next(iter(types)), 0.0) if len(types) == 1 else 0.0
        return facts.flops / rate / 1e3 if rate and facts.flops else None

    def floor_us(self, workload: str) -> float | None:
        """The higher of both floors; None when neither is known."""
        floors = [f for f in (self.byte_floor_us(workload), self.flop_floor_us(workload)) if f is not None]
        return max(floors) if floors else None

    def _measure(self) -> None:
        worker = self._pool.start_trusted("ceilings")
        try:
            pin_surely(worker.pid, measuring_cores(self._threads))
            worker.wait_ready()
            pin_surely(worker.pid, measuring_cores(self._threads))
            with tempfile.TemporaryDirectory(dir=self._pool.root) as folder:
                built = build(Path(folder))
                library = str(worker.bring(built)) if built is not None else ""
                told = worker.call("measure", TIMEOUT_S, threads=self._threads, library=library, sizes=list(SIZES))
        except (WorkerFailure, JudgeError) as failure:
            log.warning("ceilings could not be measured: %s", failure)
            return
        finally:
            self._pool.release(worker)
        rates = {str(k): float(v) for k, v in told["rates"].items()}
        self._merge({int(k): float(v) for k, v in told["gbps"].items()}, rates.pop("float32"), rates)
        self._write()

    def _merge(self, gbps: Mapping[int, float], gflops: float, rates: Mapping[str, float]) -> None:
        top = 0.0
        merged: dict[int, float] = {}
        for size in sorted(gbps, reverse=True):
            top = max(top, gbps[size], self.gbps.get(size, 0.0))
            merged[size] = round(top, 2)
        self.gbps = dict(sorted(merged.items()))
        self.gflops = round(max(self.gflops, gflops), 2)
        self.rates = {dtype: round(max(rate, self.rates.get(dtype, 0.0)), 2) for dtype, rate in rates.items()}

    def _read(self) -> bool:
        try:
            told = json.loads(self._path.read_text(encoding="utf-8"))
            if told["format"] != FORMAT:
                return False
            self.gbps = {int(k): float(v) for k, v in told["gbps"].items()}
            self.gflops = float(told["gflops"])
            self.rates = {str(k): float(v) for k, v in told["rates"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        return bool(self.gbps)

    def _write(self) -> None:
        told = {"format": FORMAT, "gbps": self.gbps, "gflops": self.gflops, "rates": self.rates}
        write_atomically(self._path, json.dumps(told))


def build(folder: Path) -> Path | None:
    """Compile the measuring library; None without a compiler."""
    compiler = cxx_compiler()
    if compiler is None:
        return None
    target = folder / "ceilings.so"
    command = [compiler, *FLAGS, *openmp_flags(compiler), str(SOURCE), "-o", str(target)]
    return target if run_compiler(command, folder=folder, timeout_s=30.0, readable=[SOURCE]).ok else None
