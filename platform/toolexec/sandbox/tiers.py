"""Which confinement this machine gives, tried out and not guessed.

Owns the order of the tiers, what each does not hold, and the refusal of a lower one than was asked for.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

from kernelwright.errors import ConfigError, UnknownName
from kernelwright.toolexec.sandbox import bubblewrap, landlock, seccomp, users

TIER_NAMES = ("rlimits", "landlock", "bubblewrap")
"""Lowest first."""
WARNING = (
    "NO SANDBOX: candidates run with nothing but resource limits. They can read and change your files. "
    "Judge only code that you would run yourself, or bring a better tier: "
)
"""Shown wherever the tier ``rlimits`` is used, followed by what would bring a better one."""


@dataclass(frozen=True)
class Tier:
    """One level of confinement as it works on this machine."""

    name: str
    detail: str
    """What it is made of here."""
    lacks: tuple[str, ...]
    """What it does not hold."""
    better: str
    """Why no higher tier is reached and what would bring it; "" for the highest."""
    wrapping: bubblewrap.Wrapping | None = None
    landlock_abi: int = 0
    seccomp: bool = False
    own_user: bool = False
    """Every launch gets a user id of its own."""

    @property
    def own_processes(self) -> bool:
        """Does a process namespace hold what a launch starts (else a supervisor of ours alone)?"""
        return self.wrapping is not None

    def warning(self) -> str:
        """What must be shown to people before candidates run; "" when nothing must."""
        return WARNING + self.better if self.name == "rlimits" else ""


def available() -> list[Tier]:
    """Every tier that works here, highest first; ``rlimits`` always does."""
    wrapping, no_wrapping = bubblewrap.find()
    abi, filtered, own_user = landlock.abi(), seccomp.supported(), users.can_drop()
    no_landlock = "" if abi else "Landlock is not in this kernel (5.13 or newer, with `landlock` in its lsm= list)"
    tiers = []
    if wrapping is not None:
        tiers.append(_bubblewrap(wrapping, filtered=filtered, own_user=own_user and wrapping.change_user))
    if abi and filtered:
        tiers.append(_landlock(abi, no_wrapping, own_user=own_user))
    better = "; ".join(why for why in (no_wrapping, no_landlock) if why)
    tiers.append(_rlimits(better, filtered=filtered, own_user=own_user))
    return tiers


TOGETHER = "the memory of all its processes together is not bounded (each has its own limit)"
DISK = "the disk space of all its files together is not bounded (each has its own limit)"
UNFILTERED = "system calls are not filtered: no seccomp in this kernel, or no table for this architecture"
SHARED_COUNT = "the number of its processes is bounded together with yours, loosely"


def _bubblewrap(wrapping: bubblewrap.Wrapping, *, filtered: bool, own_user: bool) -> Tier:
    detail = ["bubblewrap (own root, processes, network)", *_parts(own_user, filtered)]
    disk = "the disk space of all files of a compiler or a baseline together (a candidate's folder has a fixed size)"
    lacks = (TOGETHER, disk, *(() if filtered else (UNFILTERED,)))
    return Tier("bubblewrap", "; ".join(detail), lacks, "", wrapping, 0, filtered, own_user)


def _landlock(abi: int, better: str, *, own_user: bool) -> Tier:
    detail = [f"Landlock ABI {abi}", "supervisor", *_parts(own_user, True)]
    lacks = (TOGETHER, DISK, "names, sizes and times of files outside can be seen; their content cannot",
             *(() if own_user else (SHARED_COUNT,)))  # fmt: skip
    return Tier("landlock", "; ".join(detail), lacks, better, None, abi, True, own_user)


def _rlimits(better: str, *, filtered: bool, own_user: bool) -> Tier:
    detail = ["supervisor", *_parts(own_user, filtered)]
    files = "every file can be read; files that all users may write can be changed"
    if not own_user:
        files = "every file of yours can be read and changed, every process of yours be signalled and looked into"
    lacks = (files, TOGETHER, DISK, "other processes can be seen",
             *(() if own_user else (SHARED_COUNT,)), *(() if filtered else (UNFILTERED, "the network")))  # fmt: skip
    return Tier("rlimits", "; ".join(detail), lacks, better, None, 0, filtered, own_user)


def _parts(own_user: bool, filtered: bool) -> list[str]:
    return [*(["own user"] if own_user else []), *(["seccomp"] if filtered else []), "rlimits"]


@lru_cache(maxsize=4)
def _probe(pid: int, uid: int) -> Tier:
    return available()[0]


def probe() -> Tier:
    """The best tier of this machine; tried once a process (about 20 ms), so nothing stale is ever believed."""
    return _probe(os.getpid(), os.geteuid())


def require(name: str) -> Tier:
    """The best tier, if it is at least ``name``.

    Raises:
        UnknownName: there is no such tier.
        ConfigError: only a lower one is reached.
    """
    if name not in TIER_NAMES:
        raise UnknownName("sandbox tier", name, TIER_NAMES)
    tier = probe()
    if TIER_NAMES.index(tier.name) < TIER_NAMES.index(name):
        raise ConfigError(f"the sandbox reaches {tier.name!r} here, and {name!r} is required", hint=tier.better)
    return tier
