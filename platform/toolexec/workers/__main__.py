"""Entry of every worker process: ``python -m kernelwright.toolexec.workers ROLE CHANNEL_FD ARENA_FD``.

ROLE is ``kernel`` (numpy only), ``torch`` (a kernel worker with torch already imported), ``device`` and
``device-torch`` (the same on a GPU), ``reference`` or ``ceilings``. The sandbox is entered before anything else is
imported; without orders for it nothing is run. Ends when the judge closes the channel.
"""

from __future__ import annotations

import faulthandler
import os
import socket
import sys

from kernelwright.toolexec.sandbox.enter import CANNOT_ENTER, enter


def main() -> None:
    """Enter the sandbox, set up, say hello, serve."""
    tier = enter()
    if tier == "none":
        sys.exit(CANNOT_ENTER)
    role, channel_fd, arena_fd = sys.argv[1:4]
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
    elif role.startswith("device"):
        from kernelwright.toolexec.workers.device_host import DeviceHost

        if role == "device-torch":
            import kernelwright.toolexec.workers.device_module  # noqa: F401  (the slow import, done ahead)
        host = DeviceHost(arena)
    else:
        if role == "torch":
            import kernelwright.toolexec.workers.module_kernel  # noqa: F401  (the slow import, done ahead)
        host = KernelHost(arena)
    wire.send({"n": 0, "hello": role, "tier": tier})
    serve(wire, host)
    os._exit(0)  # threads that a candidate or torch.compile left must not keep the process


if __name__ == "__main__":
    main()
