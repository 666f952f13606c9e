"""Becoming another user, inside. Owns the order of the calls, and which capability may remain."""

from __future__ import annotations

import os

from kernelwright.toolexec.sandbox.kernel_calls import (
    CAP_DAC_READ_SEARCH,
    NO_SETUID_FIXUP,
    PR_SET_DUMPABLE,
    PR_SET_SECUREBITS,
    keep_only,
    prctl,
)


def become(uid: int | None, *, read_all: bool) -> None:
    """Change to a user id, with no group and no capability, for ever.

    Args:
        uid: from :func:`draw_user`; None only gives capabilities up.
        read_all: keep the right to read any file (CAP_DAC_READ_SEARCH). For tiers that decide themselves which files
            are in reach: an interpreter under /root is then still readable.

    Raises:
        OSError: not allowed.
    """
    if uid is None:
        if os.geteuid() == 0:
            keep_only(None)
        return
    os.setgroups([])
    if read_all:
        # Not merely "keep capabilities": access(2), by which compilers choose where to put temporary files, would still
        # ask as somebody without them and find the scratch folder closed when it lies in a closed one.
        prctl("keep capabilities", PR_SET_SECUREBITS, NO_SETUID_FIXUP)
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    keep_only(CAP_DAC_READ_SEARCH if read_all else None)
    prctl("dumpable", PR_SET_DUMPABLE, 1)  # changing users made /proc/self unreadable for itself
