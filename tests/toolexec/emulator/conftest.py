"""Emulated kernels for tests: built once a session, run in a process of their own as a worker would."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelwright.toolexec.emulator.build import Source, build_library
from kernelwright.toolexec.emulator.host_compiler import MISSING, host_compiler
from kernelwright.toolexec.emulator.lines import with_lines

HERE = Path(__file__).parent
RUNNER = """
import json, sys
import numpy as np
from kernelwright.toolexec.workers.emulated_kernel import load
from kernelwright.toolexec.workers.kernel import KernelError, LoadSpec, TensorSpec, empty_aligned
def loaded(path):
    read = np.load(path)
    made = empty_aligned(read.shape, str(read.dtype))
    made[...] = read
    return made
asked = json.loads(sys.stdin.read())
for number, call in enumerate(asked["calls"]):
    ins = [loaded(p) for p in call["ins"]]
    spec = LoadSpec(
        entry="emulated", language="cuda", artifact=asked["library"],
        inputs=tuple(TensorSpec(f"in{i}", str(a.dtype), a.shape) for i, a in enumerate(ins)),
        parameters=(), outputs=tuple(TensorSpec("out", d, tuple(s)) for d, s in call["outs"]),
        scalars=tuple(call["scalars"]),
    )
    failure = ""
    try:
        kernel = load(spec)
        kernel.set_weights([])
        kernel.bind(0, ins)
        kernel.poison(0, 0xa5)
        kernel.run(0)
        for i, out in enumerate(kernel.collect(0)):
            np.save(f"{asked['folder']}/{number}-{i}.npy", out)
    except KernelError as error:
        failure = str(error)
    print(json.dumps({"failure": failure}), flush=True)
"""


@dataclass(frozen=True)
class Call:
    """One call of a library."""

    ins: Sequence[np.ndarray[Any, Any]]
    outs: Sequence[tuple[str, Sequence[int]]]
    scalars: Sequence[float | int] = ()


@dataclass(frozen=True)
class Answer:
    """What came of it."""

    failure: str
    outs: list[np.ndarray[Any, Any]]
    printed: str = ""
    """By all calls of its process."""


class Emulated:
    """A built library."""

    def __init__(self, library: Path, names: Sequence[str], folder: Path) -> None:
        self.library, self.names, self.folder = library, names, folder

    def run(self, *calls: Call, timeout_s: float = 300.0, locate: bool = True) -> list[Answer]:
        """Run calls one after the other in one process."""
        folder = self.folder / f"calls-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        asked: list[dict[str, Any]] = []
        for number, call in enumerate(calls):
            paths = [folder / f"in-{number}-{i}.npy" for i in range(len(call.ins))]
            for path, array in zip(paths, call.ins, strict=True):
                np.save(path, array)
            outs = [(d, list(s)) for d, s in call.outs]
            asked.append({"ins": [str(p) for p in paths], "outs": outs, "scalars": list(call.scalars)})
        told = json.dumps({"library": str(self.library), "folder": str(folder), "calls": asked})
        done = subprocess.run(
            [sys.executable, "-c", RUNNER], input=told, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        rows = [json.loads(line)["failure"] for line in done.stdout.splitlines() if line.startswith('{"failure"')]
        assert len(rows) == len(calls), f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
        answers = []
        for number, (call, failure) in enumerate(zip(calls, rows, strict=True)):
            outs_ = [] if failure else [np.load(folder / f"{number}-{i}.npy") for i in range(len(call.outs))]
            told = with_lines(failure, self.library, self.names) if locate else failure
            answers.append(Answer(told, outs_, done.stdout))
        return answers


@pytest.fixture(scope="session")
def emulator_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all, so that the runtime is compiled once."""
    made = tmp_path_factory.mktemp("emulated") / "builds"
    made.mkdir()
    return made


@pytest.fixture(scope="session")
def emulated(emulator_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Emulated]:
    """Build a source: text, or the name of a file in this folder."""
    if host_compiler() is None:
        pytest.skip(MISSING)

    def build(text: str, *, name: str = "kernel.cu", checked: bool = True, **source: Any) -> Emulated:
        made = Source({name: text}, name, **source)
        built = build_library(made, folder=emulator_cache, timeout_s=300.0, checked=checked)
        assert built.ok and built.artifact is not None, built.log
        return Emulated(built.artifact, [name], tmp_path_factory.mktemp("calls"))

    return build
