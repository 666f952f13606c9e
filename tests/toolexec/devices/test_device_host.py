"""In what order a GPU's worker brings inputs, flushes, marks and runs; on a stand-in that writes it down."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.gpu_runtime import Marks

from kernelwright.toolexec.workers.arena import Arena
from kernelwright.toolexec.workers.device_host import DeviceHost, OnDevice
from kernelwright.toolexec.workers.kernel import LoadSpec


class Told(Marks):
    """Writes down what is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def flush(self) -> None:
        self.log.append("flush")

    def reset_persistence(self) -> None:
        self.log.append("reset")

    def mark(self, number: int) -> None:
        super().mark(number)
        self.log.append(f"mark {number}")

    def synchronize(self) -> None:
        self.log.append("wait")


class Step(OnDevice):
    """A kernel that writes down what happens to it."""

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.spec = LoadSpec("device", "cuda", "", (), (), ())

    def set_weights(self, params: Any) -> None:
        """None."""

    def bind(self, slot: int, inputs: Any) -> None:
        """Nothing to bind."""

    def poison(self, slot: int, byte: int) -> None:
        self.log.append(f"poison {slot}")

    def make_ready(self, slot: int) -> None:
        self.log.append(f"ready {slot}")

    def upload(self, slot: int) -> None:
        self.log.append(f"upload {slot}")

    def run(self, slot: int) -> None:
        self.log.append(f"run {slot}")

    def views(self, slot: int) -> list[Any]:
        return []

    def places(self, slot: int) -> list[Any]:
        return []

    def results(self, slot: int) -> list[Any]:
        return ["result"]

    def collect(self, slot: int) -> list[Any]:
        return []


@pytest.fixture
def host() -> DeviceHost:
    found = DeviceHost(Arena.create())
    runtime = Told()
    step = Step(runtime.log)
    found._runtime, found.kernels["k"], found.specs["k"] = runtime, step, step.spec
    return found


def test_inputs_of_a_call_come_when_the_call_before_it_has_run(host: DeviceHost) -> None:
    """Else a kernel could compute later slots beforehand, in the one launch that is well filled, or prefetch them."""
    host.arm({"key": "k", "slots": [0, 1], "poison": 255})
    host.make_ready({"key": "k"})
    log = host._runtime.log
    assert log == ["poison 0", "poison 1", "wait", "ready 0", "ready 1", "wait"]
    log.clear()
    host.go()
    calls = [[f"upload {n}", "flush", f"mark {2 * n + 1}", f"run {n}", f"mark {2 * n + 2}"] for n in (0, 1)]
    assert log == ["reset", "mark 0", *calls[0], *calls[1], "wait"]
    assert len(host.times({})["us"]) == 2


def test_nothing_is_run_for_nobody(host: DeviceHost) -> None:
    host.arm({"key": "k", "slots": [], "poison": 255})
    host._runtime.log.clear()
    host.go()
    assert not host._runtime.log and host.times({}) == {"us": [], "span_us": 0.0}


class Opener:
    """Stands where the Sealer does, and writes down what it is asked for."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def bring(self, slot: int, places: Any, views: Any) -> None:
        self.log.append(f"bring {slot}")

    def use(self, key: bytes) -> None:
        self.log.append(f"key {key.hex()}")

    def open(self, slot: int) -> None:
        self.log.append(f"open {slot}")

    def blanks(self, slot: int, sizes: list[int]) -> list[Any]:
        return ["blank"]

    def add_up(self, slot: int, results: list[Any]) -> None:
        self.log.append(f"add {slot} {results}")

    def sums(self) -> bytes:
        return b"\x01\x02"


@pytest.mark.parametrize("empty", [False, True])
def test_a_sealed_call_is_all_between_go_and_done(host: DeviceHost, empty: bool) -> None:
    log = host._runtime.log
    host._sealer = Opener(log)
    host.arm({"key": "k", "slots": [0], "poison": 255})
    assert host.seal({"unsealer": "", "empty": empty}) == {"idle": True}
    assert log[-3:] == ["bring 0", "reset", "wait"]
    log.clear()
    host.word = "0aff"
    assert host.go() == b" 0102"
    ran, summed = ([], "add 0 ['blank']") if empty else (["run 0"], "add 0 ['result']")
    assert log == ["key 0aff", "open 0", "flush", *ran, "wait", summed]
    assert host.times({})["us"] == [], "nothing that was clocked here is told"


class Shared(Told):
    """A device that somebody else takes away for a while."""

    def __init__(self, taken: float) -> None:
        super().__init__()
        self.taken = taken

    def between_us(self, first: int, second: int) -> float:
        return 110.0 + (self.taken if first == 17 else first % 3)


@pytest.mark.parametrize(("taken", "idle"), [(0.0, True), (60.0, True), (900.0, False)])
def test_a_device_is_idle_when_many_flushes_in_a_row_are_quick(host: DeviceHost, taken: float, idle: bool) -> None:
    host._runtime = Shared(taken)
    host._sealer = Opener([])
    host.arm({"key": "k", "slots": [0], "poison": 255})
    assert host.seal({"unsealer": "", "idle": True}) == {"idle": idle}
