"""CuTe's headers on the processor: which flags they need, and copies of the few that hold PTX, translated.

Owns what makes CuTe take its host forms with the tensor-core and copy atoms of sm_75 and sm_80 switched on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelwright.records import content_hash
from kernelwright.toolexec.emulator.lexing import masked
from kernelwright.toolexec.emulator.ptx import assembled
from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.owned_folder import OwnedFolder

TRANSLATED = ("copy_sm75.hpp", "copy_sm80.hpp", "mma_sm80.hpp")
INLINED = ("config.hpp",)
"""Where CuTe's qualifiers are: inlined as nvcc does it, so that an access is told by the kernel's line."""
SWITCHES = (
    "-DKWEMU_HOST_FORMS", "-DCUTE_CVTA_GENERIC_TO_SHARED_ACTIVATED=1", "-DCUTE_ARCH_LDSM_SM75_ACTIVATED=1",
    "-DCUTE_ARCH_CP_ASYNC_SM80_ENABLED=1", "-DCUTE_ARCH_MMA_SM80_ENABLED=1",
)  # fmt: skip


@dataclass(frozen=True)
class Extra:
    """What a compilation needs beside the usual."""

    flags: tuple[str, ...] = ()
    readable: tuple[Path, ...] = ()


NONE = Extra()


def wanted(files: Mapping[str, str]) -> bool:
    """Does a source include CuTe or CUTLASS?"""
    return any(re.search(r"^\s*#\s*include\s*[<\"](cute|cutlass)/", text, re.M) for text in files.values())


def flags(folder: Path) -> Extra | str:
    """Flags for CuTe; a text says what is missing.

    Args:
        folder: the cache of builds, for the translated headers.
    """
    found = toolchain.cutlass()
    if found is None:
        return "error: " + toolchain.lacking("cutlass", "runs CuTe kernels on the processor")
    ours = _translated(found.path, folder)
    return Extra((*SWITCHES, f"-I{ours}", f"-I{found.path}"), (ours, found.path))


def _translated(include: Path, folder: Path) -> Path:
    def text(name: str) -> str:
        return (include / "cute" / name).read_text(encoding="utf-8")

    made = {f"arch/{name}": _without_ptx(text(f"arch/{name}"), name) for name in TRANSLATED}
    made |= {name: _inlined(text(name)) for name in INLINED}
    place = folder / f"emulator-cute-{content_hash([made], length=24)}"
    if place.exists():
        return place
    own = OwnedFolder(folder, ".cute-")
    try:
        work = own.path / "include"
        (work / "cute" / "arch").mkdir(parents=True)
        for name, changed in made.items():
            (work / "cute" / name).write_text(changed, encoding="utf-8")
        os.rename(work, place)
    except OSError:  # another process was quicker
        if not place.exists():
            raise
    finally:
        own.close()
    return place


def _inlined(text: str) -> str:
    forced = r"\1inline __attribute__((always_inline))"
    return re.sub(r"^(#\s*define CUTE_(?:HOST_DEVICE|DEVICE|HOST)\s+)inline[ \t]*$", forced, text, flags=re.M)


def _without_ptx(text: str, name: str) -> str:
    edits = assembled(text, masked(text), lambda at: f"{name}:{text.count(chr(10), 0, at) + 1}", lenient=True)
    for start, end, new in sorted(edits, reverse=True):
        lost = text.count("\n", start, end) - new.count("\n")
        text = text[:start] + new + "\n" * max(lost, 0) + text[end:]
    return text
