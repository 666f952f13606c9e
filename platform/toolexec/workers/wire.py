"""Lines of JSON over a socket, and the two short lines of a timed call. Used on both sides.

The socket keeps packets apart, because the kernel stamps packets, and only those, with the time at which they were
sent: a judge that is woken late still knows when "done" was said. Longer lines are several packets.

No pickle: nothing that a worker sends can become code in the judge. A line has a bounded length, every reply repeats
the number of its request, and whatever does not fit is a WireError.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import time
from typing import Any

MAX_LINE = 4 << 20
"""Longest line in bytes; descriptions of exported graphs are the longest honest ones."""
PACKET = 1 << 15
STAMP = 35
"""SO_TIMESTAMPNS of Linux (asm-generic/socket.h); Python's socket does not name it."""
TIMESPEC = struct.Struct("qq")
GO = b"go "
DONE = b"done "
"""Followed by a word that the judge draws anew for each call: "done" cannot be said before "go" was read."""


class WireError(Exception):
    """The other side sent something that is no message."""


class Closed(WireError):
    """The other side is gone."""


class LateReply(WireError):
    """Nothing came in time."""


class Wire:
    """One end of the channel.

    Args:
        sock: a connected socket, of packets or a stream; the wire owns it.
        stamps: ask the kernel when what is received was sent.
    """

    def __init__(self, sock: socket.socket, *, stamps: bool = False) -> None:
        self._socket = sock
        self._rest = bytearray()
        self.sent_ns = 0
        """When the last packet received was sent, in ``time.time_ns()``'s time; 0 where nobody knows."""
        self._room = socket.CMSG_SPACE(TIMESPEC.size) if stamps else 0
        if stamps:
            with contextlib.suppress(OSError):  # a system that cannot: times then end when they are heard of
                sock.setsockopt(socket.SOL_SOCKET, STAMP, 1)

    def fileno(self) -> int:
        """The descriptor."""
        return self._socket.fileno()

    def send_line(self, line: bytes) -> None:
        """Send bytes that end in a newline.

        Raises:
            Closed: the other side is gone.
        """
        try:
            for at in range(0, len(line), PACKET):
                self._socket.sendall(line[at : at + PACKET])
        except OSError as error:
            raise Closed(str(error)) from error

    @property
    def pending(self) -> bool:
        """Has something arrived that nobody has read yet?"""
        return bool(self._rest) or bool(select.select([self._socket], [], [], 0)[0])

    def send(self, message: dict[str, Any]) -> None:
        """Send one JSON object."""
        self.send_line(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def receive_line(self, deadline: float | None = None) -> bytes:
        """The next line with its newline.

        Args:
            deadline: ``time.monotonic()`` value to give up at; None waits for ever.

        Raises:
            Closed, LateReply, WireError: nobody there, nothing in time, or a line that never ends.
        """
        while True:
            end = self._rest.find(b"\n")
            if end >= 0:
                line = bytes(self._rest[: end + 1])
                del self._rest[: end + 1]
                return line
            if len(self._rest) > MAX_LINE:
                raise WireError(f"a line longer than {MAX_LINE} bytes")
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                    raise LateReply("no reply in time")
            try:
                chunk, notes, flags, _ = self._socket.recvmsg(2 * PACKET, self._room)
            except OSError as error:
                raise Closed(str(error)) from error
            if not chunk:
                raise Closed("the channel was closed")
            if flags & socket.MSG_TRUNC:
                raise WireError("a packet that is too long")
            self.sent_ns = sent_ns(notes)
            self._rest += chunk

    def receive(self, deadline: float | None = None, *, skip: bool = False) -> dict[str, Any]:
        """The next line as a JSON object.

        Args:
            deadline: as :meth:`receive_line`.
            skip: pass over lines that are none (only tests want that).

        Raises:
            WireError: it is none.
        """
        while True:
            line = self.receive_line(deadline)
            try:
                return decode(line)
            except WireError:
                if not skip:
                    raise

    def close(self) -> None:
        """Close this end."""
        self._socket.close()


def sent_ns(notes: list[tuple[int, int, bytes]]) -> int:
    """The kernel's time stamp among the ancillary data of a packet; 0 when there is none."""
    for level, kind, data in notes:
        if level == socket.SOL_SOCKET and kind == STAMP and len(data) >= TIMESPEC.size:
            seconds, nanoseconds = TIMESPEC.unpack_from(data)
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return 0


def decode(line: bytes) -> dict[str, Any]:
    """A line as a JSON object.

    Raises:
        WireError: it is none.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a message: {line[:80]!r}") from error
    if not isinstance(message, dict):
        raise WireError(f"not an object: {line[:80]!r}")
    return message
