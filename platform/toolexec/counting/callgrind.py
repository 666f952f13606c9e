"""Cachegrind's counters of one call of a C++ kernel: valgrind's callgrind with its cache simulation.

Owns the command line and the reading of callgrind's output. Simulated caches have the sizes of this machine's L1 and
L2; they prefetch nothing and know one thread.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelwright.protocols import Availability
from kernelwright.toolexec.sandbox.confinement import Limits, run_confined

LINE = 64
"""Bytes of a cache line."""
SLOWER = 120
"""How many times slower a kernel runs under callgrind with caches and branches, about; measured 50 to 110."""
SUSPECT_FLAGS = "avx512"
"""valgrind up to 3.24 ends with an illegal instruction on these."""
LIMITS = Limits(address_space=16 << 30, file_size=64 << 20, processes=64)
HOT_LINES = 3
HOT_SHARE = 0.1


@dataclass(frozen=True)
class Counts:
    """Events of one warm call."""

    events: Mapping[str, int]
    """Callgrind's names: Ir Dr Dw D1mr D1mw DLmr DLmw Bc Bcm Bi Bim."""
    hottest: tuple[tuple[str, float, float], ...]
    """File and line, its share of the instructions, its share of the L1 misses."""

    def __getitem__(self, name: str) -> int:
        return self.events.get(name, 0)


@functools.lru_cache(maxsize=1)
def availability() -> Availability:
    """Is valgrind here?"""
    path = shutil.which("valgrind")
    if path is None:
        return Availability(False, "valgrind is not installed: no simulated cache counters")
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return Availability(False, f"valgrind does not start: {error}")
    return Availability(told.returncode == 0, told.stdout.strip() or "valgrind does not start")


def cache_option(size: int) -> str:
    """``size,ways,64`` that callgrind accepts: the number of sets has to be a power of two; "" where none fits."""
    for ways in range(8, 33):
        sets, rest = divmod(size, ways * LINE)
        if not rest and sets and not sets & (sets - 1):
            return f"{size},{ways},{LINE}"
    return ""


def command(out: str, caches: Mapping[str, int]) -> list[str]:
    """Callgrind in front of the driver, counting inside ``kw_counted_call`` only.

    Args:
        out: file for the counts.
        caches: ``L1``, ``L2`` -> bytes of the data cache.
    """
    options = ["--tool=callgrind", "--toggle-collect=kw_counted_call", "--cache-sim=yes", "--branch-sim=yes"]
    options += ["--compress-strings=no", "--compress-pos=no", "--dump-line=yes", f"--callgrind-out-file={out}"]
    for name, level in (("--D1", "L1"), ("--LL", "L2")):
        if chosen := cache_option(caches.get(level, 0)):
            options.append(f"{name}={chosen}")
    return [shutil.which("valgrind") or "valgrind", *options]


def count(
    argv: list[str], folder: Path, *, files: Collection[str], caches: Mapping[str, int], timeout_s: float
) -> Counts | str:
    """The counts of one call, or why there are none.

    Args:
        argv: the driver's command line, to count one call.
        folder: it lies there, and may write there.
        files: names of the candidate's own files.
        caches: ``L1``, ``L2`` -> bytes.
        timeout_s: wall time for all of it.
    """
    out = folder / "callgrind.out"
    environment = {"PATH": os.environ.get("PATH", ""), "LANG": "C", "OMP_NUM_THREADS": "1"}
    whole = [*command(str(out), caches), *argv]
    done = run_confined(whole, scratch=folder, env=environment, timeout_s=timeout_s, limits=LIMITS)
    if done.timed_out:
        return f"callgrind needed more than {timeout_s:.0f} s"
    if done.exit_code != 0:
        illegal = done.exit_code == -4 or "unhandled instruction" in done.output.lower()
        return "callgrind met an instruction that it does not know" if illegal else f"callgrind ended {done.exit_code}"
    try:
        return read(out.read_text(encoding="utf-8", errors="replace"), files)
    except (OSError, ValueError) as error:
        return f"callgrind's output cannot be read: {error}"


def read(text: str, files: Collection[str]) -> Counts:
    """Counts from callgrind's file (uncompressed, by line); lines are told of ``files`` only.

    Raises:
        ValueError: it has no events.
    """
    names: list[str] = []
    file, called = "", False
    lines: dict[tuple[str, int], list[int]] = defaultdict(list)
    totals: list[int] = []
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if line.startswith("events:"):
            names = line.split()[1:]
        elif equals and key in ("fl", "fi", "fe"):
            file = name if (name := Path(value).name) in files else ""
        elif equals:
            called = key == "calls"
        elif line[:1].isdigit() and names:
            at, *costs = map(int, line.split())
            if not called:  # the line after calls= is what the callee took, which is counted there
                costs += [0] * (len(names) - len(costs))
                totals = [a + b for a, b in zip(totals or [0] * len(names), costs, strict=True)]
                old = lines[file, at] or [0] * len(names)
                lines[file, at] = [a + b for a, b in zip(old, costs, strict=True)]
            called = False
    events = dict(zip(names, totals, strict=False))
    if not events.get("Ir"):
        raise ValueError("no instructions were counted")
    return Counts(events, _hottest(names, lines, events))


def _hottest(
    names: list[str], lines: Mapping[tuple[str, int], list[int]], events: Mapping[str, int]
) -> tuple[tuple[str, float, float], ...]:
    misses = max(1, events.get("D1mr", 0) + events.get("D1mw", 0))
    found = []
    for (file, line), costs in lines.items():
        cost = dict(zip(names, costs, strict=True))
        share = cost["Ir"] / events["Ir"]
        if file and line and share >= HOT_SHARE:
            found.append((f"{file}:{line}", share, (cost.get("D1mr", 0) + cost.get("D1mw", 0)) / misses))
    return tuple(sorted(found, key=lambda f: -f[1])[:HOT_LINES])
