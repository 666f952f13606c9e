"""The loop of a worker: read a request, do it, answer. Hosts kernels for the judge.

Owns the order of untimed and timed work inside a worker process. It measures nothing and compares nothing; the judge
holds the clock on the other side of the channel.
"""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelwright.toolexec.heap import trim
from kernelwright.toolexec.workers.arena import Arena
from kernelwright.toolexec.workers.kernel import Array, Kernel, KernelError, LoadSpec, TensorSpec, load
from kernelwright.toolexec.workers.wire import DONE, GO, Closed, Wire, decode

Handler = Callable[[dict[str, Any]], dict[str, Any]]


def error_reply(error: BaseException) -> dict[str, Any]:
    """How an exception is told to the judge: a kind, one line, and where it came from."""
    if isinstance(error, KernelError):
        return {"error": error.kind, "message": str(error), "trace": ""}
    kind = "memory" if isinstance(error, MemoryError) or "can't allocate memory" in str(error) else "runtime"
    line = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return {"error": kind, "message": line[:1000], "trace": traceback.format_exc()[-4000:]}


class KernelHost:
    """Kernels by key, on one arena.

    Args:
        arena: the memory shared with the judge.
    """

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.kernels: dict[str, Kernel] = {}
        self.specs: dict[str, LoadSpec] = {}
        self.armed: tuple[Callable[[int], None], tuple[int, ...]] = (lambda slot: None, ())
        self.word = ""
        """What the judge drew for the go that is answered."""
        self.handlers: dict[str, Handler] = {
            "arena": self.map_arena,
            "load": self.load,
            "weights": self.weights,
            "prepare": self.prepare,
            "bind": self.bind,
            "arm": self.arm,
            "collect": self.collect,
            "observed": self.observed,
        }

    def map_arena(self, message: dict[str, Any]) -> dict[str, Any]:
        """Map the arena at its new size."""
        self.arena.map(int(message["size"]))
        return {}

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Load a kernel under a key."""
        spec = LoadSpec.from_json(message["spec"])
        self.kernels[message["key"]] = load(spec)
        self.specs[message["key"]] = spec
        return {}

    def weights(self, message: dict[str, Any]) -> dict[str, Any]:
        """Hand over the weights that lie in the arena."""
        spec = self.specs[message["key"]]
        arrays = [self.arena.array(at, t) for at, t in zip(message["at"], spec.parameters, strict=True)]
        self.kernels[message["key"]].set_weights(arrays)
        return {}

    def prepare(self, message: dict[str, Any]) -> dict[str, Any]:
        """Let the kernel pack its weights."""
        return {"prepared": bool(self.kernels[message["key"]].prepare())}

    def bind(self, message: dict[str, Any]) -> dict[str, Any]:
        """Bind slots to the places of their inputs; tell where their outputs lie, where that is fixed."""
        spec, kernel = self.specs[message["key"]], self.kernels[message["key"]]
        for slot, places in message["slots"]:
            arrays = [self.arena.array(at, t) for at, t in zip(places, spec.inputs, strict=True)]
            kernel.bind(int(slot), arrays)
        return {"memory": [kernel.memory(int(slot)) for slot, _ in message["slots"]]}

    def arm(self, message: dict[str, Any]) -> dict[str, Any]:
        """Poison the outputs and remember which slots the next "go" runs."""
        slots = tuple(int(s) for s in message["slots"])
        if not slots:
            self.armed = (lambda slot: None, ())
            trim()  # it will not run for a while: several workers share this machine's memory
            return {}
        kernel = self.kernels[message["key"]]
        for slot in slots:
            kernel.poison(slot, int(message["poison"]))
        self.armed = (kernel.run, slots)
        return {}

    def collect(self, message: dict[str, Any]) -> dict[str, Any]:
        """Copy outputs into the arena; where one does not look as it must, say so instead."""
        key = message["key"]
        kernel, spec = self.kernels[key], self.specs[key]
        for slot, places in zip(message["slots"], message["at"], strict=True):
            arrays = kernel.collect(int(slot))
            dtypes = kernel.output_dtypes(int(slot)) or [t.dtype for t in spec.outputs]
            found = [{"dtype": d, "shape": list(a.shape)} for d, a in zip(dtypes, arrays, strict=True)]
            wanted = [{"dtype": t.dtype, "shape": list(t.shape)} for t in spec.outputs]
            if found != wanted:
                return {"mismatch": found}
            for at, tensor, array in zip(places, spec.outputs, arrays, strict=True):
                copy_into(self.arena, at, tensor, array)
        return {}

    def observed(self, message: dict[str, Any]) -> dict[str, Any]:
        """What was seen of a kernel's calls."""
        return {"seen": self.kernels[message["key"]].observed()}

    def go(self) -> bytes | None:
        """The timed part; what is told with "done", if anything."""
        run, slots = self.armed
        for slot in slots:
            run(slot)
        return None


def copy_into(arena: Arena, at: int, spec: TensorSpec, array: Array) -> None:
    """Copy an array's bytes into the arena."""
    np.copyto(arena.array(at, spec), array.view(arena.array(at, spec).dtype).reshape(spec.shape))


def serve(wire: Wire, host: Any) -> None:
    """Answer requests until the judge hangs up.

    Args:
        wire: the channel.
        host: has ``handlers`` and ``go``.
    """
    go = host.go
    while True:
        try:
            line = wire.receive_line()
        except Closed:
            return
        if line.startswith(GO):
            gc.disable()
            host.word = line[len(GO) : -1].decode()
            try:
                told = go()
            except BaseException as error:
                wire.send({"n": -1, **error_reply(error)})
            else:
                wire.send_line(DONE + line[len(GO) : -1] + (told or b"") + b"\n")
            gc.enable()
            continue
        message = decode(line)
        try:
            reply = host.handlers[message["op"]](message)
        except BaseException as error:
            reply = error_reply(error)
        wire.send({"n": message.get("n", 0), **reply})
