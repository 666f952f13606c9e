"""The process that stays above a confined one and ends with it, and it with itself.

In a process namespace it is process 1: when it ends, the kernel ends everything else in there. Elsewhere orphans of the
confined process, daemons included, become its children (PR_SET_CHILD_SUBREAPER), and it ends all of them when the
confined process ends, when it is told to (SIGTERM), and when its own parent dies. It runs no stranger's code, holds no
descriptor, and its memory is closed to processes of the same user.
"""

from __future__ import annotations

import os
import resource
import signal
from typing import NoReturn

from kernelwright.toolexec.sandbox.kernel_calls import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, prctl
from kernelwright.toolexec.sandbox.processes import end_below_me

PATIENCE_S = 1.5
WATCHED = (signal.SIGTERM, signal.SIGCHLD)


def stay_behind(judge: int, uid: int | None) -> None:
    """Fork; the child returns from here, the parent supervises it until both end.

    Args:
        judge: process id of our parent, whose death ends us; not looked at where we are process 1.
        uid: the child will run as this user, alone; None means as ours.
    """
    above = os.getpid()
    if above != 1:  # else bubblewrap has seen to it
        prctl("end with the parent", PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != judge:
            os._exit(3)
        prctl("adopt orphans", PR_SET_CHILD_SUBREAPER, 1)
    prctl("close our memory", PR_SET_DUMPABLE, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    child = os.fork()
    if child:
        _supervise(child, uid)
    prctl("open the child's", PR_SET_DUMPABLE, 1)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
    os.setsid()
    prctl("end with the supervisor", PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != above:
        os._exit(3)


def _supervise(child: int, uid: int | None) -> NoReturn:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.closerange(3, 1 << 20)
    os.chdir("/")
    status = _wait_for(child)
    code = 128 + signal.SIGTERM if status is None else os.waitstatus_to_exitcode(status)
    if os.getpid() == 1:
        os._exit(128 - code if code < 0 else code)
    end_below_me(uid, patience_s=PATIENCE_S)
    if code < 0:  # end as it ended, so that whoever waits for us reads its signal
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if code != -signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)


def _wait_for(child: int) -> int | None:
    """Its wait status; None when we were told to end."""
    while signal.sigwait(WATCHED) != signal.SIGTERM:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return 0
            if pid == child:
                return status
            if pid == 0:
                break
    return None
