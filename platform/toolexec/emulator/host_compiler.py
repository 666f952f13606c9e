"""The compiler that makes a processor's code of CUDA: which one, and its words for what the emulator asks.

Owns g++ and clang++: where they are found and how each is told to report every access. It runs nothing but
``--version``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelwright.toolexec.languages.compiling import compiler_version

MISSING = "no g++ and no clang++: the emulator compiles CUDA with one; install it, e.g. `apt install g++`"
NAMES = ("g++", "clang++", *(f"clang++-{n}" for n in range(24, 13, -1)))
"""Looked for in this order, after $CXX. clang++ 19 was tried; before 14 its instrumentation is another."""
CHECKED = ("-g1", "-fsanitize=thread,alignment", "-DKWEMU_CHECK=1")
OWN_CHECKED = {
    "gcc": ("--param=tsan-instrument-func-entry-exit=0", "--param=tsan-distinguish-volatile=1"),
    # A sibling call would leave no return address in the kernel; without the last one the read of `x += 1` is not told,
    # and x may be uninitialised. addr2line 2.40 does not find the calls that clang inlines in its DWARF 5.
    "clang": (
        "-fdebug-default-version=4", "-fno-optimize-sibling-calls", "-mllvm", "-tsan-instrument-func-entry-exit=0",
        "-mllvm", "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-read-before-write=1",
    ),
}  # fmt: skip
PLAIN = ("-O2", "-g1", "-DKWEMU_CHECK=0")
ALWAYS = ("-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-threadsafe-statics", "-w")
OWN_TEMPLATES = {"gcc": ("--param=ggc-min-expand=400", "--param=ggc-min-heapsize=524288"), "clang": ()}
"""For CuTe: g++ collects its garbage seldom, which saves a fifth of the time for some hundred MB."""


@dataclass(frozen=True)
class HostCompiler:
    """One compiler."""

    path: str
    family: str
    """``gcc`` or ``clang``."""

    def flags(self, *, checked: bool, templates: bool) -> tuple[str, ...]:
        """For a candidate's source.

        Args:
            checked: every access is reported.
            templates: the source is CuTe's: what is inlined anyway needs less of the optimizer.
        """
        own = OWN_TEMPLATES[self.family] if templates else ()
        if not checked:
            return (*ALWAYS, *PLAIN, *own)
        return (*ALWAYS, *CHECKED, *OWN_CHECKED[self.family], "-Og" if templates else "-O1", *own)

    def runtime_flags(self, *, checked: bool) -> tuple[str, ...]:
        """For the emulator's runtime, which reports nothing."""
        return (*ALWAYS, "-O2", f"-DKWEMU_CHECK={int(checked)}")

    def identity(self) -> tuple[object, ...]:
        """What a cached build depends on."""
        return (
            compiler_version(self.path), self.family, self.flags(checked=True, templates=True),
            self.flags(checked=False, templates=False),
        )  # fmt: skip


def host_compilers() -> Iterator[HostCompiler]:
    """Those of this machine, the one to use first: $CXX where it is one of the two, then NAMES."""
    seen: set[str] = set()
    for name in (os.environ.get("CXX", ""), *NAMES):
        path = shutil.which(name) if name else None
        if path and os.path.realpath(path) not in seen and (family := _family(path)):
            seen.add(os.path.realpath(path))
            yield HostCompiler(path, family)


def host_compiler() -> HostCompiler | None:
    """The one to use; None when there is none."""
    return next(host_compilers(), None)


def _family(path: str) -> str:
    """By what it says of itself: g++ is clang on some systems, and $CXX may be anything."""
    said = compiler_version(path).lower()
    if "clang" in said:
        return "clang"
    return "gcc" if "++" in Path(path).name and any(w in said for w in ("g++", "gcc", "free software")) else ""
