"""The outer command of the best tier: bubblewrap builds a file system of its own, with no network and own processes.

Owns bubblewrap's command line and whether it works here. What happens inside, before the command, is enter.py's.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.toolexec.sandbox.places import inside

PROBE_TIMEOUT_S = 5.0
SHARED_MEMORY_BYTES = 64 << 20
KEPT_FOR_ENTERING = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_DAC_READ_SEARCH")
"""What root keeps until enter() has changed users."""


@dataclass(frozen=True)
class Wrapping:
    """How bubblewrap is called here."""

    program: str
    change_user: bool
    """As root without a user namespace, so that enter() can change to a user of its own."""


def namespaces(wrapping: Wrapping) -> list[str]:
    """Options that make the namespaces and give up privileges."""
    options = ["--die-with-parent", "--new-session", "--as-pid-1", "--unshare-ipc", "--unshare-pid", "--unshare-net",
               "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox", "--cap-drop", "ALL"]  # fmt: skip
    if not wrapping.change_user:
        return [*options, "--unshare-user"]
    return [*options, *(word for cap in KEPT_FOR_ENTERING for word in ("--cap-add", cap))]


def file_system(
    readable: Sequence[str], writable: Sequence[str], hidden: Iterable[str], *, scratch: str, scratch_bytes: int
) -> list[str]:
    """Options that build the root: empty but for ``readable``, and read-only but for ``writable`` and ``scratch``.

    Args:
        readable: existing places, parents first, none inside another.
        writable: places that keep what is written; devices among them are passed on as devices.
        hidden: folders inside readable ones that look empty.
        scratch: the private folder.
        scratch_bytes: its size, in memory; 0 means it is the folder on the disk.
    """
    options = []
    for path in readable:
        if os.path.islink(path) and os.path.dirname(path) == "/":
            options += ["--symlink", os.readlink(path), path]
        else:
            options += ["--ro-bind", path, path]
    options += ["--proc", "/proc", "--dev", "/dev"]
    options += ["--size", str(SHARED_MEMORY_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm"]
    for path in hidden:
        if any(inside(path, r) for r in readable):
            options += ["--perms", "0000", "--tmpfs", path]
    for path in writable:
        device = stat.S_ISCHR(os.stat(path).st_mode)
        options += ["--dev-bind" if device else "--bind", path, path]
    if scratch_bytes:
        options += ["--size", str(scratch_bytes), "--perms", "0777", "--tmpfs", scratch]
    else:
        options += ["--bind", scratch, scratch]
    return [*options, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", scratch]


def find() -> tuple[Wrapping | None, str]:
    """Try bubblewrap for real.

    Returns:
        How to call it, or None; and why not, in words, with what would bring it.
    """
    program = shutil.which("bwrap")
    if program is None:
        return None, "bubblewrap is not installed (apt-get install bubblewrap, dnf install bubblewrap)"
    why = ""
    for change_user in (True, False) if os.geteuid() == 0 else (False,):
        wrapping = Wrapping(program, change_user)
        why = _try(wrapping)
        if not why:
            return wrapping, ""
    return None, f"bubblewrap cannot make its namespaces here: {why}{_remedy()}"


def _try(wrapping: Wrapping) -> str:
    system = [p for p in ("/usr", "/bin", "/lib", "/lib64", "/nix/store", "/gnu/store") if os.path.exists(p)]
    scratch = ["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/"]
    binds = [word for path in system for word in ("--ro-bind", path, path)]
    true = shutil.which("true") or "/bin/true"
    command = [wrapping.program, *namespaces(wrapping), *binds, *scratch, "--", true]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else (done.stderr.strip() or f"status {done.returncode}")


def _remedy() -> str:
    switch = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    try:
        restricted = switch.read_text().strip() == "1"
    except OSError:
        restricted = False
    if restricted:
        return (
            "; AppArmor restricts user namespaces: give /usr/bin/bwrap a profile that allows userns, or "
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "; in a container, start it with --security-opt seccomp=unconfined or --cap-add SYS_ADMIN"
    return "; allow unprivileged user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)"
