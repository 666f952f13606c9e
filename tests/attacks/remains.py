"""What a candidate may have left behind: processes, descriptors, memory, files. Looks at /proc, changes nothing.

Other people may judge on this machine at the same time, so a process counts as left behind only if it bears a mark of a
worker of ours and nobody who started it is alive, or if it is one of the programs that the samples start.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import time
from dataclasses import dataclass
from pathlib import Path

import kernelwright

PROGRAMS = (b"sleep\x00417\x00", b"sleep\x00600\x00")
WORKER = b"kernelwright.toolexec"
PROBE = "kw_attack_probe"


def process_table() -> dict[int, tuple[int, bytes, str]]:
    """pid -> (parent, command line, state); zombies of others are left out."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                stat = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
                table[int(name)] = (int(stat[1]), Path("/proc", name, "cmdline").read_bytes(), stat[0])
    return table


def left_behind(before: set[int]) -> list[str]:
    """Processes started since ``before`` that nobody looks after."""
    table = process_table()
    found = []
    for pid, (parent, command, state) in table.items():
        if pid in before or state == "Z" or pid == os.getpid():
            continue
        orphan = parent == 1 or parent not in table
        if any(program in command for program in PROGRAMS) or (WORKER in command and orphan):
            found.append(f"{pid} {command.replace(bytes(1), b' ')[:120].decode('utf-8', 'replace')}")
    return found


def wait_until_gone(before: set[int], seconds: float = 3.0) -> list[str]:
    """What is still left behind after a short while (ending a tree may take two seconds)."""
    end = time.monotonic() + seconds
    while left := left_behind(before):
        if time.monotonic() > end:
            return left
        time.sleep(0.1)
    return []


@dataclass(frozen=True)
class Footprint:
    """What this process and its temporary folder hold."""

    files: int
    nbytes: int
    descriptors: int
    children: int
    resident_kib: int

    @classmethod
    def of(cls, folder: Path) -> Footprint:
        """Look now."""
        files = nbytes = 0
        for place, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(OSError):
                    nbytes += os.lstat(os.path.join(place, name)).st_size
                    files += 1
        children = sum(parent == os.getpid() and s != "Z" for parent, _, s in process_table().values())
        resident_kib = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
        return cls(files, nbytes, len(os.listdir("/proc/self/fd")), children, resident_kib)


def probes() -> list[str]:
    """Files named like a probe in places that a sample must not be able to write; they are removed."""
    package = Path(next(iter(kernelwright.__path__))).resolve()
    places = {package, package.parent, package / "toolexec", Path("/tmp")}
    places |= {Path.cwd(), Path.home(), Path.home() / ".cache"}
    for name in ("torch", "numpy"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            places |= {Path(spec.origin).parent, Path(spec.origin).parent.parent}
    found = []
    for place in places:
        for path in place.glob(f"{PROBE}*") if place.is_dir() else ():
            found.append(str(path))
            with contextlib.suppress(OSError):
                path.unlink()
    return sorted(found)
