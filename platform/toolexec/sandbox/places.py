"""Which parts of the disk a confined process needs to read: the system's programs, Python, and this package's code.

Everything else stays out of reach: home folders, the workspace, other tasks, the library's solutions. Owns the lists;
it must not look at what runs inside.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import kernelwright

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
    "/etc/nsswitch.conf", "/sys/devices/system/cpu", "/sys/devices/system/node",
    "/sys/kernel/mm/transparent_hugepage",
)  # fmt: skip
"""Programs, libraries, what the loader reads, and the shape of the processor."""
MACHINE_FACTS = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/loadavg",
    "/proc/uptime", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/pid_max",
)  # fmt: skip
"""For tiers that see the machine's own /proc; of processes, a confined one sees itself only."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
HIDDEN_DATA = "knowledge"
"""Folder inside the installed package with tasks and solutions: answers that a candidate must not look up."""


def both(path: str | Path) -> set[str]:
    """A path as given and with its links resolved."""
    return {os.path.abspath(path), os.path.realpath(path)}


@cache
def package_root() -> str:
    """Folder that must be on sys.path for ``import kernelwright``."""
    return str(Path(next(iter(kernelwright.__path__))).parent)


@cache
def interpreter() -> frozenset[str]:
    """Folders of this Python: prefixes of the environment, of its base, and of every link between them."""
    found = {p for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix) for p in both(prefix)}
    link = os.path.abspath(sys.executable)
    while os.path.islink(link):
        link = os.path.abspath(os.path.join(os.path.dirname(link), os.readlink(link)))
        found |= both(Path(link).parent.parent) if Path(link).parent.name == "bin" else set()
    return frozenset(found)


@cache
def package() -> frozenset[str]:
    """Folders of this package's code, and what they link to."""
    return frozenset(p for folder in kernelwright.__path__ for p in both(folder))


@cache
def hidden() -> frozenset[str]:
    """Folders inside readable ones that stay out of reach."""
    inside = {os.path.join(folder, HIDDEN_DATA) for folder in package()}
    return frozenset(p for p in inside if os.path.isdir(p) and not os.path.islink(p))


def readable(more: Iterable[str | Path] = ()) -> list[str]:
    """All existing places to read, none inside another, parents first.

    Args:
        more: of this launch, beside the system, the interpreter and the package.
    """
    wanted = {p for path in more for p in both(path) if os.path.exists(p)}
    return outermost([*_always(), *wanted])


@cache
def _always() -> tuple[str, ...]:
    """What every launch reads; looked at once a process."""
    return tuple(outermost(p for p in {*SYSTEM, *interpreter(), *package()} if os.path.exists(p)))


def outermost(paths: Iterable[str]) -> list[str]:
    """Paths without those that lie inside another of them."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda p: p.split("/")):
        if not any(inside(path, k) for k in kept):
            kept.append(path)
    return kept


def inside(path: str, folder: str) -> bool:
    """Is ``path`` ``folder`` or in it?"""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def without(path: str, forbidden: Iterable[str]) -> tuple[list[str], list[str]]:
    """A folder as a list of the largest parts of it that hold none of ``forbidden``.

    Returns:
        The parts, and the folders that were taken apart: listing them is still needed to find the parts.
    """
    bad = [f for f in forbidden if inside(f, path)]
    if not bad:
        return [path], []
    if path in bad:
        return [], []
    parts, apart = [], [path]
    for name in sorted(os.listdir(path)):
        found, folders = without(os.path.join(path, name), bad)
        parts += found
        apart += folders
    return parts, apart
