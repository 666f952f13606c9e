"""Program counters in the emulator's reports become the kernel's file and line.

Owns the form ``[[1a2b,3c4d]]``, offsets into the library: where it happened, and the calls that led there. addr2line
reads a stranger's library, so it runs confined.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from kernelwright.toolexec.languages.compiling import run_compiler
from kernelwright.toolexec.owned_folder import OwnedFolder

_COUNTER = re.compile(r"\[\[([0-9a-f]{1,16}(?:,[0-9a-f]{1,16})*)\]\]")
_FRAME = re.compile(r"([^/\s:][^/:]*):(\d+)(?: \(discriminator \d+\))?\s*$")


def with_lines(report: str, library: Path, own_files: Collection[str], *, timeout_s: float = 20.0) -> str:
    """A report with ``kernel.cu:12`` in place of counters; those that cannot be found become ``?``.

    Args:
        report: what the runtime said.
        library: the shared library it ran in.
        own_files: names of the candidate's files; of the calls that led there the innermost in one of them counts.
        timeout_s: wall time.
    """
    counters = list(dict.fromkeys(_COUNTER.findall(report)))
    if not counters:
        return report
    found = _frames(library, counters, own_files, timeout_s) if shutil.which("addr2line") else {}
    return _COUNTER.sub(lambda m: found.get(m[1], "?"), report)


def _frames(library: Path, counters: list[str], own_files: Collection[str], timeout_s: float) -> dict[str, str]:
    own = OwnedFolder(library.parent, ".lines-")
    places: dict[str, str] = {}
    try:
        work = own.path / "work"
        work.mkdir()
        shutil.copyfile(library, work / "kernel.so")
        for counter in counters[:4]:
            calls = [f"0x{each}" for each in counter.split(",")]
            done = run_compiler(["addr2line", "-i", "-e", "kernel.so", *calls], folder=work, timeout_s=timeout_s)
            frames = [f"{m[1]}:{m[2]}" for line in done.log.splitlines() if (m := _FRAME.search(line))]
            mine = [f for f in frames if f.partition(":")[0] in own_files]
            places[counter] = (mine or frames or ["?"])[0]
    finally:
        own.close()
    return places
