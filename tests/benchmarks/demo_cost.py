"""What the demo costs: wall time, and the peak of the memory of all its processes together.

Run, with kernelwright installed:
    python tests/benchmarks/demo_cost.py [--repeat 3] [-- ARGS for `kernelwright demo`]
Every repetition gets a workspace of its own, so that nothing is cached. Memory is the sum of the proportional set sizes
of the whole process tree (shared pages count once), read five times a second from /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MIB = 1 << 10
"""KiB to MiB."""
WORKERS = "kernelwright.toolexec.workers"


def tree(root: int) -> list[int]:
    """A process and all its descendants."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it may be gone
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found, before = {root}, 0
    while len(found) != before:
        before = len(found)
        found |= {pid for pid, parent in parents.items() if parent in found}
    return sorted(found)


def pss_kib(pid: int) -> int:
    """Proportional set size of one process; 0 where it is gone."""
    with contextlib.suppress(OSError):
        for line in Path("/proc", str(pid), "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def name_of(pid: int) -> str:
    """What a process is, in a word."""
    with contextlib.suppress(OSError):
        words = Path("/proc", str(pid), "cmdline").read_text().split("\0")
        if WORKERS in words:
            return words[words.index(WORKERS) + 1] + " worker"
        return Path(words[0]).name + (" (judge)" if "demo" in words else "")
    return "gone"


def one(arguments: list[str]) -> tuple[float, dict[str, list[int]], int]:
    """(wall seconds, KiB of each process at the peak by what it is, exit status) of one demo."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "kernelwright", "demo", "--workspace", folder, *arguments]
        began, peak, most = time.monotonic(), dict[str, list[int]](), 0
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            now: dict[str, list[int]] = {}
            for pid in tree(process.pid):
                now.setdefault(name_of(pid), []).append(pss_kib(pid))
            total = sum(map(sum, now.values()))
            if total > most:
                peak, most = now, total
            time.sleep(0.2)
        return time.monotonic() - began, peak, process.returncode


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("arguments", nargs="*", help="for kernelwright demo, after --")
    given = parser.parse_args()
    for number in range(1, given.repeat + 1):
        wall_s, peak, status = one(given.arguments)
        total = sum(map(sum, peak.values()))
        print(f"demo {number}: {wall_s:.1f} s, peak {total / MIB:.0f} MiB over all processes, exit {status}")
        for name, sizes in sorted(peak.items(), key=lambda item: -sum(item[1])):
            each = " + ".join(f"{size / MIB:.0f}" for size in sorted(sizes, reverse=True))
            print(f"    {name:20} {each}", flush=True)


if __name__ == "__main__":
    main()
