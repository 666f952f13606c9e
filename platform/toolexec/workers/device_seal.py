"""The device's side of sealed calls: inputs that came sealed are opened after "go", outputs summed before "done".

Owns the sealed bytes on the device and the launches of unseal.cu. The judge's half, and what it is for, is in
toolexec/sealing.py. It runs in a worker whose other code may be a stranger's, and proves nothing by itself: what the
judge believes is the sum, which needs the key and the finished outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.toolexec.languages.launch import Argument, BoundLaunch
from kernelwright.toolexec.sealing import BLOCK_BYTES, KEY_BYTES, input_stream, output_stream
from kernelwright.toolexec.workers.device_runtime import Launcher, Region
from kernelwright.toolexec.workers.kernel import Array

UNSEAL, SUM = "kw_unseal", "kw_keyed_sum"
THREADS = 256
MOST_BLOCKS = 4096
"""Threads go on where the grid ends; this many blocks fill any GPU."""
MOST_SUMS = 1 << 12


class Sealer:
    """The two kernels of unseal.cu, loaded.

    Args:
        runtime: drives the device.
        folder: their build.
    """

    def __init__(self, runtime: Launcher, folder: Path) -> None:
        self._runtime = runtime
        self._loaded = runtime.load(folder)
        self._key = runtime.allocate(KEY_BYTES)
        self._sums = runtime.allocate(8 * MOST_SUMS)
        self._count = 0
        self._rooms: dict[tuple[int, int], Region] = {}
        self._blanks: dict[tuple[int, int], Region] = {}
        self._unsealing: dict[int, list[Callable[[], None]]] = {}

    def bring(self, slot: int, places: Sequence[Region], views: Sequence[Array]) -> None:
        """Take a slot's sealed inputs from the arena to the device, and make their opening ready."""
        launches = []
        for number, (place, view) in enumerate(zip(places, views, strict=True)):
            if place.size:
                room = self._room(self._rooms, slot, number, place.size)
                self._runtime.upload(room.address, view)
                stream = input_stream(slot, number)
                launches.append(self._bound(UNSEAL, room.address, place.address, place.size, stream))
        self._unsealing[slot] = launches
        self._runtime.fill(self._sums, 8 * MOST_SUMS, 0)
        self._count = 0

    def use(self, key: bytes) -> None:
        """The key is known now."""
        self._runtime.upload(self._key, np.frombuffer(key, dtype=np.uint8))

    def open(self, slot: int) -> None:
        """Queue the opening of a slot's inputs."""
        for launch in self._unsealing[slot]:
            launch()

    def add_up(self, slot: int, results: Sequence[Region]) -> None:
        """Queue the sums of a slot's outputs."""
        for number, result in enumerate(results):
            at = self._sums + 8 * self._count
            self._count += 1
            if result.size:
                self._bound(SUM, result.address, at, result.size, output_stream(slot, number))()

    def sums(self) -> bytes:
        """All sums that were queued, 8 bytes each; waits for them."""
        found = np.empty(max(self._count, 1), dtype="<u8")
        self._runtime.download(self._sums, found)
        return found[: self._count].tobytes()

    def blanks(self, slot: int, sizes: Sequence[int]) -> list[Region]:
        """Memory that stands for outputs where nothing was run: adding it up costs the same."""
        return [self._room(self._blanks, slot, number, size) for number, size in enumerate(sizes)]

    def _room(self, rooms: dict[tuple[int, int], Region], slot: int, number: int, size: int) -> Region:
        there = rooms.get((slot, number))
        if there is None or there.size < size:
            there = rooms[slot, number] = Region(self._runtime.allocate(size), size)
        return Region(there.address, size)

    def _bound(self, kernel: str, source: int, target: int, size: int, stream: int) -> Callable[[], None]:
        blocks = min(MOST_BLOCKS, -(-size // (BLOCK_BYTES * THREADS)))
        arguments = (
            Argument("in", 0), Argument("in", 1), Argument("out", 0), Argument("int64", size),
            Argument("int64", stream),
        )  # fmt: skip
        launch = BoundLaunch(kernel, (blocks, 1, 1), (THREADS, 1, 1), 0, (1, 1, 1), arguments)
        addresses = [np.uint64(address) for address in (self._key, source, target)]
        values: list[Any] = [*addresses, np.int64(size), np.int64(stream)]
        return self._runtime.bound(self._loaded, launch, values)
