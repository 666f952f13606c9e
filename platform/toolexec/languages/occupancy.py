"""Theoretical occupancy: how many blocks of a kernel one multiprocessor holds, and what stops it from holding more.

Owns the limits of the architectures that are compiled for; arithmetic only. Limits: CUDA C++ Programming Guide,
technical specifications per compute capability. Rules of allocation: cuda_occupancy.h's, which a test asks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernelwright.errors import UnknownName

WARP = 32
REGISTER_UNIT = 256
"""Registers are given to a warp in units of so many."""
PARTITIONS = 4
"""Parts of a multiprocessor, each with a quarter of its registers; a warp lives in one."""
MAX_THREADS_PER_BLOCK = 1024
KIB = 1024


@dataclass(frozen=True)
class Multiprocessor:
    """What one multiprocessor of an architecture holds."""

    warps: int
    blocks: int
    shared_bytes: int
    """At the largest carve-out."""
    shared_bytes_per_block: int
    """At most, what the system reserves taken off; above 48 KiB only as dynamic shared memory, by opting in."""
    reserved_bytes: int = 1024
    """Taken by the system for each block."""
    shared_unit: int = 128
    registers: int = 65536
    max_registers: int = 255


MULTIPROCESSORS = {
    "75": Multiprocessor(32, 16, 64 * KIB, 64 * KIB, reserved_bytes=0, shared_unit=256),
    "80": Multiprocessor(64, 32, 164 * KIB, 163 * KIB),
    "86": Multiprocessor(48, 16, 100 * KIB, 99 * KIB),
    "89": Multiprocessor(48, 24, 100 * KIB, 99 * KIB),
    "90": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "100": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "103": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "120": Multiprocessor(48, 24, 100 * KIB, 99 * KIB),
}
"""Compute capability without the dot -> limits."""
ARCHITECTURES = (
    "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103a", "sm_120", "sm_120a",
)  # fmt: skip
"""What may be asked for; a name with ``a`` allows instructions of that generation only."""


@dataclass(frozen=True)
class Occupancy:
    """How a kernel fills a multiprocessor."""

    blocks: int
    """0: it cannot be launched at all."""
    warps: int
    share: float
    """Resident warps over the most that fit, 0 to 1."""
    limiter: str
    """``registers``, ``shared memory``, ``warps`` or ``blocks``; several are joined by ``+``."""


def multiprocessor(architecture: str) -> Multiprocessor:
    """The limits of an architecture such as ``sm_90a``.

    Raises:
        UnknownName: it is none of ours.
    """
    if architecture not in ARCHITECTURES:
        raise UnknownName("GPU architecture", architecture, ARCHITECTURES)
    return MULTIPROCESSORS[re.sub(r"\D", "", architecture)]


def occupancy(architecture: str, *, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """Blocks that fit at once.

    Args:
        architecture: e.g. ``sm_80``.
        threads: of a block.
        registers: of a thread.
        shared_bytes: of a block, static and dynamic.
    """
    limits = multiprocessor(architecture)
    warps = -(-threads // WARP)
    fit = {
        "warps": limits.warps // warps,
        "blocks": limits.blocks,
        "registers": _by_registers(limits, warps, registers),
        "shared memory": _by_shared(limits, shared_bytes),
    }
    if threads > MAX_THREADS_PER_BLOCK:
        return Occupancy(0, 0, 0.0, "warps")
    blocks = min(fit.values())
    return Occupancy(blocks, blocks * warps, blocks * warps / limits.warps, _names(fit, blocks))


def _names(fit: dict[str, int], blocks: int) -> str:
    return " + ".join(name for name, count in fit.items() if count == blocks)


def _by_registers(limits: Multiprocessor, warps: int, registers: int) -> int:
    a_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
    if not a_warp:
        return limits.blocks
    rounded = -(-warps // PARTITIONS) * PARTITIONS
    if registers > limits.max_registers or a_warp * rounded > limits.registers:
        return 0
    return limits.registers // PARTITIONS // a_warp * PARTITIONS // warps


def _by_shared(limits: Multiprocessor, shared_bytes: int) -> int:
    if shared_bytes > limits.shared_bytes_per_block:
        return 0
    taken = -(-(shared_bytes + limits.reserved_bytes) // limits.shared_unit) * limits.shared_unit
    return limits.shared_bytes // taken if taken else limits.blocks
