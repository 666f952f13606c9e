"""Inside: what a process does to itself before any stranger's code. ``enter()`` for workers, ``main`` for commands.

Reads the orders that the judge's side wrote (confinement.py) from a descriptor and applies them in the one order that
works: open the allowed paths, fork the supervisor, limits, user, no new privileges, files, system calls. Anything that
fails ends the process: a sandbox is entered wholly or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
from typing import Any, NoReturn

from kernelwright.toolexec.sandbox import identity, landlock, seccomp
from kernelwright.toolexec.sandbox.kernel_calls import PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, prctl
from kernelwright.toolexec.sandbox.supervisor import stay_behind

VARIABLE = "KERNELWRIGHT_SANDBOX"
"""Number of the descriptor that holds the orders."""
CANNOT_ENTER, CANNOT_EXECUTE = 125, 127

RESOURCES = {
    "address_space": resource.RLIMIT_AS,
    "file_size": resource.RLIMIT_FSIZE,
    "cpu_s": resource.RLIMIT_CPU,
    "processes": resource.RLIMIT_NPROC,
    "open_files": resource.RLIMIT_NOFILE,
}


def enter() -> str:
    """Confine this process as ordered. Call it first in main, from the only thread; it may fork.

    Returns:
        The tier reached; ``none`` when no orders were given.

    Raises:
        OSError: the kernel refused a part of it; do not go on.
    """
    number = os.environ.pop(VARIABLE, "")
    if not number:
        return "none"
    with os.fdopen(int(number), "rb") as stream:
        stream.seek(0)
        orders = json.load(stream)
    _go_first_when_memory_ends()
    stay_behind(orders["judge"], orders["uid"])
    _apply(orders)
    for folder in orders["folders"]:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    return str(orders["tier"])


def _apply(orders: dict[str, Any]) -> None:
    rules = _open_rules(orders) if orders["landlock_abi"] else None
    _limit(orders["limits"])
    parent = os.getppid()
    identity.become(orders["uid"], read_all=orders["read_all"])
    prctl("end with the parent", PR_SET_PDEATHSIG, signal.SIGKILL)  # changing users had cleared it
    if os.getppid() != parent:
        os._exit(3)
    prctl("no new privileges", PR_SET_NO_NEW_PRIVS, 1)
    if rules is not None:
        rules.enforce()
    if orders["seccomp"]:
        alone = os.getpid() if orders["guard_signals"] else 0
        local = orders["limits"]["drives_gpu"]
        seccomp.install(self_only=alone, keep_modes=orders["keep_modes"], local_sockets=local)


def _open_rules(orders: dict[str, Any]) -> landlock.Ruleset:
    rules = landlock.Ruleset(orders["landlock_abi"])
    rules.allow_reading([*orders["readable"], "/proc/self"])
    rules.allow_listing(orders["listable"])
    rules.allow_writing(orders["writable"])
    if orders["limits"]["drives_gpu"]:
        rules.allow_changing(["/proc/self/task"])
    return rules


def _limit(limits: dict[str, int]) -> None:
    for name, kind in RESOURCES.items():
        value = limits[name]
        if value:
            _, hard = resource.getrlimit(kind)
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            # At the hard limit of processor time the kernel says SIGKILL; a second earlier it says what it is for.
            above = value + 1 if name == "cpu_s" and hard == resource.RLIM_INFINITY else value
            resource.setrlimit(kind, (value, above))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _go_first_when_memory_ends() -> None:
    """Let the kernel end this process, not the judge, when the machine runs out of memory."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as stream:
        stream.write("1000")


def main() -> NoReturn:
    """``ROOT -- COMMAND...``: enter, then become COMMAND."""
    command = sys.argv[sys.argv.index("--") + 1 :]
    try:
        enter()
    except OSError as error:
        sys.stderr.write(f"the sandbox cannot be entered: {error}\n")
        sys.exit(CANNOT_ENTER)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a command would inherit that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        sys.exit(CANNOT_EXECUTE)
