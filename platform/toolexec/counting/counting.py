"""What a C++ candidate does, counted: simulated caches, hardware counters, thread scaling, the vectoriser's remarks.

Owns the order of these, their limits in time, and the words for what could not be had. A stranger's kernel runs
confined.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernelwright.records import Candidate, Environment, TaskFacts
from kernelwright.toolexec.counting import callgrind, hardware
from kernelwright.toolexec.counting.driving import (
    Driven,
    DriverFailed,
    build_driver,
    driven,
    prepare_folder,
    write_job,
)
from kernelwright.toolexec.counting.remarks import vectoriser_remarks
from kernelwright.toolexec.languages.compiling import machine_flags
from kernelwright.toolexec.languages.cpp import CppLanguage
from kernelwright.toolexec.owned_folder import OwnedFolder
from kernelwright.toolexec.precision import Array
from kernelwright.toolexec.workers.kernel import KernelError, LoadSpec

log = logging.getLogger(__name__)

CALLGRIND_S = 20.0
"""Most seconds for the simulation of one candidate."""
BUILD_S = 30.0
BURST_S = 0.02
"""Calls are made for so long before a clock is read."""
PLAIN_ARCHITECTURE = "-march=x86-64-v3"


@dataclass(frozen=True)
class Work:
    """What is counted: a candidate at one workload, on one draw."""

    candidate: Candidate
    facts: TaskFacts
    workload: str
    spec: LoadSpec
    """As the judge calls it; its artifact is the native build."""
    inputs: Sequence[Array]
    weights: Sequence[Array]
    latency_us: float
    """As measured by the judge: it says how long the simulation will take."""


@dataclass
class Counted:
    """What was found."""

    metrics: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def count(work: Work, environment: Environment, cache: Path) -> Counted:
    """Count what one call does. What cannot be had is a note; nothing is raised for a kernel's or a tool's failure.

    Args:
        work: what is counted.
        environment: the machine: caches, cores, threads.
        cache: builds are kept there.
    """
    found = Counted()
    own = OwnedFolder(Path(tempfile.gettempdir()), "kernelwright-counting-")
    folder = own.path
    try:
        _remarks(work, folder, found)
        driver = build_driver(cache)
        write_job(folder / "job.bin", work.spec, work.inputs, work.weights)
        _simulate(work, environment, folder, driver, found)
        _run(work, environment, folder, driver, found)
    except (DriverFailed, KernelError, OSError) as error:
        found.notes.append(f"Not counted: {error}.")
    finally:
        own.close()
    return found


def _simulate(work: Work, environment: Environment, folder: Path, driver: Path, found: Counted) -> None:
    """Callgrind's counts of a warm call."""
    here = callgrind.availability()
    expected_s = 2 * work.latency_us * work.spec.threads * callgrind.SLOWER / 1e6
    if not here.ok or expected_s > CALLGRIND_S:
        told = here.detail if not here.ok else f"it would take about {expected_s:.0f} s"
        found.notes.append(f"Caches not simulated: {told}.")
        return
    plain = callgrind.SUSPECT_FLAGS in machine_flags()
    library = _built_for_simulation(work, folder, plain=plain)
    if library is None:
        found.notes.append("Caches not simulated: the kernel does not build for the simulator.")
        return
    argv = prepare_folder(folder / "simulated", driver, library, folder / "job.bin")
    counts = callgrind.count(
        [*argv, "count"], folder / "simulated", files={f.path for f in work.candidate.files},
        caches=environment.cache_bytes, timeout_s=CALLGRIND_S,
    )  # fmt: skip
    if isinstance(counts, str):
        found.notes.append(f"Caches not simulated: {counts}.")
        return
    found.metrics |= simulated_metrics(counts)
    how = ", built without AVX-512, which it does not know" if plain else ""
    found.notes.append(f"sim_* are of one warm call on one thread under {here.detail} (no prefetching){how}.")
    found.notes += [
        f"{place}: {share:.0%} of the instructions, {misses:.0%} of the L1 misses"
        for place, share, misses in counts.hottest
    ]


class _Simulated(CppLanguage):
    """C++ with line numbers, and without what the simulator does not know."""

    def __init__(self, *, plain: bool) -> None:
        self._plain = plain

    def flags(self, candidate: Candidate, compiler: str) -> list[str]:
        """As for judging, and more."""
        return [*super().flags(candidate, compiler), "-g", *([PLAIN_ARCHITECTURE] if self._plain else [])]


def _built_for_simulation(work: Work, folder: Path, *, plain: bool) -> Path | None:
    language = _Simulated(plain=plain)
    made = language.build(work.candidate, work.facts, workload=work.workload, folder=folder, timeout_s=BUILD_S)
    return made.artifact if made.ok else None


def simulated_metrics(counts: callgrind.Counts) -> dict[str, float]:
    """Callgrind's events as metrics of a call."""
    reads, writes = counts["Dr"], counts["Dw"]
    misses = counts["D1mr"] + counts["D1mw"]
    beyond = counts["DLmr"] + counts["DLmw"]
    branches = counts["Bc"] + counts["Bi"]
    found = {
        "sim_instructions": float(counts["Ir"]),
        "sim_l1_misses": float(misses),
        "sim_l1_miss_share": misses / max(1, reads + writes),
        "sim_l2_misses": float(beyond),
    }
    if branches:
        found["sim_branch_miss_share"] = (counts["Bcm"] + counts["Bim"]) / branches
    return found


def _run(work: Work, environment: Environment, folder: Path, driver: Path, found: Counted) -> None:
    """The processor's counters, and how threads help."""
    threads, cores = work.spec.threads, environment.affinity
    library, job = Path(work.spec.artifact), folder / "job.bin"
    try:
        argv = prepare_folder(folder / "native", driver, library, job)
        with driven(argv, folder / "native", threads=threads, cores=cores, timeout_s=CALLGRIND_S) as running:
            number, all_us = _timed(running)
            with hardware.counted(running.pid) as counted:
                running.calls(number)
        found.metrics |= hardware_metrics(counted, number)
        if not any(name in counted for name in hardware.HARDWARE):
            found.notes.append(f"The processor's own counters: {hardware.availability().detail}.")
        if threads > 1:
            one = replace(work.spec, threads=1)
            write_job(job, one, work.inputs, work.weights)
            argv = prepare_folder(folder / "single", driver, library, job)
            with driven(argv, folder / "single", threads=1, cores=cores[:1], timeout_s=CALLGRIND_S) as running:
                found.metrics["thread_speedup"] = _timed(running)[1] / all_us
            found.metrics["threads"] = float(threads)
    except (DriverFailed, OSError) as error:
        found.notes.append(f"Counters of the processor and thread scaling were not taken: {error}.")


def _timed(running: Driven) -> tuple[int, float]:
    """How many calls fill a burst, and the least microseconds of one over three bursts."""
    number, spent = 1, running.calls(1)
    while spent < BURST_S:
        number = max(number * 2, int(number * BURST_S / max(spent, 1e-6)))
        spent = running.calls(number)
    return number, min([spent, running.calls(number), running.calls(number)]) / number * 1e6


def hardware_metrics(counted: Mapping[str, float], calls: int) -> dict[str, float]:
    """Counters as metrics of a call."""
    found = {f"hw_{name}": value / calls for name, value in counted.items()}
    if counted.get("cycles") and counted.get("instructions"):
        found["hw_instructions_per_cycle"] = counted["instructions"] / counted["cycles"]
    if "page_faults" in counted:
        found["page_faults"] = found.pop("hw_page_faults")
        if found["page_faults"] < 0.5:
            del found["page_faults"]  # nothing to act on
    return found


def _remarks(work: Work, folder: Path, found: Counted) -> None:
    place = folder / "remarks"
    place.mkdir()
    start = time.monotonic()
    told = vectoriser_remarks(work.candidate, place, timeout_s=BUILD_S)
    log.debug("remarks took %.2f s", time.monotonic() - start)
    found.notes += [f"Vectoriser: {told}."] if isinstance(told, str) else told
