"""Entry of every worker process: ``python -m kernelwright.toolexec.workers ROLE CHANNEL_FD ARENA_FD LIMITS``.

ROLE is ``kernel`` (numpy only), ``torch`` (a kernel worker with torch already imported), ``reference`` or
``ceilings``. Limits are
applied before anything else is imported. Ends when the judge closes the channel.
"""

from __future__ import annotations

import faulthandler
import json
import os
import socket
import sys

from kernelwright.toolexec.workers.limits import apply_limits


def main() -> None:
    """Set up, say hello, serve."""
    role, channel_fd, arena_fd, limits = sys.argv[1:5]
    apply_limits(json.loads(limits))
    faulthandler.enable()
    from kernelwright.toolexec.workers.arena import Arena
    from kernelwright.toolexec.workers.serve import KernelHost, serve
    from kernelwright.toolexec.workers.wire import Wire

    wire = Wire(socket.socket(fileno=int(channel_fd)))
    arena = Arena(int(arena_fd))
    host: object
    if role == "reference":
        from kernelwright.toolexec.workers.reference_host import ReferenceHost

        host = ReferenceHost(arena)
    elif role == "ceilings":
        from kernelwright.toolexec.workers.ceilings import CeilingsHost

        host = CeilingsHost(arena)
    else:
        if role == "torch":
            import kernelwright.toolexec.workers.module_kernel  # noqa: F401  (the slow import, done ahead)
        host = KernelHost(arena)
    wire.send({"n": 0, "hello": role, "pid": os.getpid()})
    serve(wire, host)
    os._exit(0)  # threads that a candidate or torch.compile left must not keep the process


if __name__ == "__main__":
    main()
