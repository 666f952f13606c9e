"""Nsight Compute: where it is, may it count, its command line, and its CSV as metrics of one call.

Owns what is read off its output: two forms are known, one row a kernel (``--page raw``) and one row a metric
(``--page details``). It starts nothing. Source: "Nsight Compute CLI", "Command Line Options" and "Output Pages".
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.protocols import Availability
from kernelwright.toolexec.devices.cuda import counters
from kernelwright.toolexec.languages.toolchain import cuda_roots

PLACES = ("/opt/nvidia/nsight-compute/*", "/usr/local/NVIDIA-Nsight-Compute*")
HOW_TO_GET = "`apt-get install cuda-nsight-compute-13-0` from NVIDIA's repository, or the CUDA toolkit's installer"
SECTIONS = ("SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "Occupancy", "WarpStateStats")
"""What is asked for: sections name the metrics that a chip has, which differ from chip to chip."""
REFUSED = "ERR_NVGPUCTRPERM"
ERROR = re.compile(r"^==ERROR== (.*)$", re.M)
UNITS = {"%": 0.01, "ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3,
         "s": 1e6, "second": 1e6}  # fmt: skip
"""Unit -> factor to shares and microseconds."""
DURATION = "kernel_us"
NAMES: dict[str, tuple[str, ...]] = {
    DURATION: ("gpu__time_duration.sum", "gpu__time_duration.avg", "Duration"),
    "sm_utilization": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "Compute (SM) Throughput", "SM [%]"),
    "memory_utilization": (
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "Memory Throughput", "Memory [%]",
    ),
    "dram_utilization": (
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        "DRAM Throughput",
    ),
    "l1_hit_rate": ("l1tex__t_sector_hit_rate.pct", "L1/TEX Hit Rate"),
    "l2_hit_rate": ("lts__t_sector_hit_rate.pct", "L2 Hit Rate"),
    "achieved_occupancy": ("sm__warps_active.avg.pct_of_peak_sustained_active", "Achieved Occupancy"),
    "theoretical_occupancy": ("sm__maximum_warps_per_active_cycle_pct", "Theoretical Occupancy"),
    "issue_utilization": (
        "smsp__issue_active.avg.pct_of_peak_sustained_active", "sm__inst_issued.avg.pct_of_peak_sustained_active",
        "Issue Slots Busy",
    ),
}  # fmt: skip
"""Our metric -> ncu's names of it, by id and by label; the first that is there counts."""
STALL = re.compile(r"smsp__average_warps?_(?:latency_)?issue_stalled_(\w+?)(?:_per_issue_active)?\.ratio")
TENSOR = re.compile(r"sm__(?:inst_executed_)?pipe_tensor\w*\.(?:avg|sum)\.pct_of_peak_sustained_(?:active|elapsed)")
FIXED = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
         "Device", "CC")  # fmt: skip


class Unreadable(Exception):
    """The output holds no counts; its text says why, in a line."""


@dataclass
class KernelReading:
    """What was counted of one kernel of a call."""

    kernel: str
    values: dict[str, float] = field(default_factory=dict)
    """ncu's name -> value; shares as parts of one, times in microseconds."""


def program() -> Path | None:
    """Where ncu lies; None when it is not installed."""
    found = shutil.which("ncu")
    if found:
        return Path(found)
    beside = [root / "bin" / "ncu" for root in cuda_roots()]
    placed = [p / "ncu" for place in PLACES for p in sorted(Path("/").glob(place[1:]), reverse=True)]
    return next((p for p in (*beside, *placed) if os.access(p, os.X_OK)), None)


def availability() -> Availability:
    """Can kernels be profiled by counters here? Otherwise how that is brought about."""
    if program() is None:
        return Availability(False, f"profiles from events and static facts: ncu is not installed ({HOW_TO_GET})")
    allowed, words = counters()
    if not allowed:
        return Availability(False, f"profiles from events and static facts: {words}")
    return Availability(True, f"profiles from ncu: {words}")


def command(ncu: Path, argv: Sequence[str]) -> list[str]:
    """ncu around a program that says itself where profiling starts."""
    sections = [word for section in SECTIONS for word in ("--section", section)]
    return [str(ncu), "--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off",
            "--clock-control", "none", *sections, *argv]  # fmt: skip


def parse(text: str) -> list[KernelReading]:
    """The kernels of a run, in order.

    Args:
        text: what ncu printed; lines before the table may be anything.

    Raises:
        Unreadable: ncu was refused, or says nothing that is known here.
    """
    if REFUSED in text:
        raise Unreadable(f"the driver does not let counters be read ({REFUSED}): {counters()[1]}")
    start = re.search(r'^"ID",', text, re.M)
    if start is None:
        said = ERROR.search(text)
        raise Unreadable(f"ncu says: {said[1][:200]}" if said else "ncu counted nothing: no kernel was run in time")
    rows = [row for row in csv.reader(io.StringIO(text[start.start() :])) if len(row) > 1]
    header, body = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    readings = _by_metric(header, body) if "Metric Name" in header else _by_kernel(header, body)
    if not any(reading.values for reading in readings):
        raise Unreadable("ncu's table holds no metric that is known here")
    return readings


def _by_kernel(header: Sequence[str], body: Sequence[Sequence[str]]) -> list[KernelReading]:
    """``--page raw``: a row of units, then a row a kernel."""
    units = body[0] if body and not body[0][header.index("ID")].strip() else [""] * len(header)
    found = []
    for row in body[1:] if units is body[0] else body:
        told = dict(zip(header, row, strict=True))
        reading = KernelReading(told.get("Kernel Name", ""))
        for name, unit, text in zip(header, units, row, strict=True):
            if name not in FIXED and (value := number(text, unit)) is not None:
                reading.values[name] = value
        found.append(reading)
    return found


def _by_metric(header: Sequence[str], body: Sequence[Sequence[str]]) -> list[KernelReading]:
    """``--page details``: a row a metric; the same ID is the same kernel."""
    found: dict[str, KernelReading] = {}
    for row in body:
        told = dict(zip(header, row, strict=True))
        reading = found.setdefault(told["ID"], KernelReading(told.get("Kernel Name", "")))
        value = number(told["Metric Value"], told.get("Metric Unit", ""))
        if value is not None:
            reading.values.setdefault(told["Metric Name"], value)
    return list(found.values())


def number(text: str, unit: str) -> float | None:
    """A cell as a number in our units: 81.5 % is 0.815, 1,234.5 ns are 1.2345 us; None where it is none."""
    plain = text.strip().replace(",", "")
    if not re.fullmatch(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?", plain):
        return None
    return float(plain) * UNITS.get(unit.strip(), 1.0)


def metrics_of(readings: Sequence[KernelReading]) -> dict[str, float]:
    """One call's metrics: kernels count by how long they ran.

    Shares are parts of one; ``stall_*`` are the warps that wait for that reason while one issues, on average; a chip
    counts several tensor pipes, and the busiest is ``tensor_core_use``.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    total_us = 0.0
    for reading in readings:
        own = _own_names(reading.values)
        weight = own.pop(DURATION, 0.0)
        total_us += weight
        for name, value in own.items():
            found.setdefault(name, []).append((value, max(weight, 1e-9)))
    means = {name: sum(v * w for v, w in pairs) / sum(w for _, w in pairs) for name, pairs in found.items()}
    return means | ({DURATION: total_us} if total_us else {})


def _own_names(values: Mapping[str, float]) -> dict[str, float]:
    known = ((name, next((values[n] for n in theirs if n in values), None)) for name, theirs in NAMES.items())
    found = {name: value for name, value in known if value is not None}
    for name, value in values.items():
        if (stalled := STALL.fullmatch(name)) and "not_issued" not in stalled[1]:
            found[f"stall_{stalled[1]}"] = value
        if TENSOR.fullmatch(name):
            found["tensor_core_use"] = max(value, found.get("tensor_core_use", 0.0))
    return found
