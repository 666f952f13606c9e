"""What host code does with kernels beside launching them: it takes their addresses and asks for shared memory.

Owns that a kernel can be launched through a ``const void*``, and that who asked for more dynamic shared memory is known
by name. The launches themselves are translate.py's.
"""

from __future__ import annotations

import re

from kernelwright.toolexec.emulator.lexing import closing, masked

_KERNEL = re.compile(r"\b__global__\b")
_POINTER = r"(?:const\s+)?void\s*(?:const\s*)?\*(?:\s*const)?"
_CAST = re.compile(rf"(?:\(\s*{_POINTER}\s*\)|\breinterpret_cast\s*<\s*{_POINTER}\s*>\s*\()\s*(&?\s*([A-Za-z_][\w:]*))")
_MEMBER = re.compile(r"(?:\.|->)\s*\b(gridDim|blockDim)\b")
_ATTRIBUTE = re.compile(r"\bcudaFuncSetAttribute\s*\(")


def kernel_names(mask: str) -> set[str]:
    """Names of the functions that a source declares ``__global__``."""
    found = set()
    for match in _KERNEL.finditer(mask):
        at = match.end()
        while at < len(mask) and mask[at] not in ";{":
            name = re.match(r"\s*([A-Za-z_]\w*)\s*\(", mask[at:])
            if name and name[1] not in ("__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__attribute__"):
                found.add(name[1])
                break
            bracket = re.match(r"\s*\w*\s*\(", mask[at:])
            at = closing(mask, at + bracket.end() - 1) + 1 if bracket else at + 1
            if not at:
                break
    return found


def with_config_members(text: str) -> str:
    """A source in which members named as a thread's ``gridDim`` and ``blockDim`` (cudaLaunchConfig_t's) are others.

    Args:
        text: CUDA C++.
    """
    for match in reversed(list(_MEMBER.finditer(masked(text)))):
        text = f"{text[: match.start(1)]}kwemu_{text[match.start(1) :]}"
    return text


def addresses(text: str, mask: str) -> list[tuple[int, int, str]]:
    """Edits: a kernel that becomes a ``void*`` is remembered with its parameters."""
    kernels, edits = kernel_names(mask), []
    for match in _CAST.finditer(mask):
        if match[2].rpartition("::")[2] not in kernels:
            continue
        end = match.end()
        if opened := re.match(r"\s*<(?!<)", mask[end:]):
            end = _angles(mask, end + opened.end() - 1)
        edits.append((match.start(1), end, f"kwemu::kernel({text[match.start(1) : end]})"))
    return edits


def attributes(text: str, mask: str) -> list[tuple[int, int, str]]:
    """Edits: ``cudaFuncSetAttribute`` is told the name of the kernel that it is called for."""
    edits = []
    for match in _ATTRIBUTE.finditer(mask):
        first = re.match(r"[^,;]*", mask[match.end() :])
        shown = re.sub(r"\(\s*[^()]*\*\s*\)|\w+_cast\s*<[^<>]*>|<.*|[\s()&]", "", first[0] if first else "")
        edits.append((match.start(), match.end(), f'kwemu::function_attribute("{shown}", '))
    return edits


def _angles(mask: str, start: int) -> int:
    """Behind the bracket that closes the angle bracket at ``start``."""
    depth, at = 0, start
    while at < len(mask):
        if mask[at] in "([{":
            at = closing(mask, at)
            if at < 0:
                return start
        depth += (mask[at] == "<") - (mask[at] == ">")
        at += 1
        if not depth:
            return at
    return start
