"""Kernels by people who have not read the emulator: the broken ones are caught at their lines, the others pass.

The form of the files is in broken/README.md. One sample each runs by default, all of them with ``--full``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelwright.tasks.candidate_files import declared_tunables
from kernelwright.toolexec.languages.launch import parse_plan

from .conftest import Answer, Call, Emulated

HERE = Path(__file__).parent


def cases(folder: str) -> list[Any]:
    """Every kernel of a folder; all but the first sample are slow: each is compiled on its own."""
    paths = sorted((HERE / folder).glob("*.cu"))
    quick = next(p for p in paths if p.name.startswith("first-"))
    return [pytest.param(p, id=p.stem, marks=[] if p == quick else [pytest.mark.slow]) for p in paths]


def head(text: str, word: str) -> str:
    """What a line at the top says; "" when it is not there."""
    found = re.search(rf"^// {word}: (.*)$", text, re.M)
    return found[1].strip() if found else ""


def tensors(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """dtypes and shapes of ``float32[33, 97], int32[33]``."""
    found = re.findall(r"(\w+)\[([\d, ]*)\]", text)
    return [(dtype, tuple(int(n) for n in sizes.split(",") if n.strip())) for dtype, sizes in found]


def run(emulated: Callable[..., Emulated], path: Path) -> tuple[Answer, list[Any]]:
    """What came of a kernel, and its arguments."""
    text = path.read_text(encoding="utf-8")
    rng = np.random.default_rng(7)
    ins: list[Any] = []
    for dtype, shape in tensors(head(text, "in")):
        drawn = rng.integers(0, 10, size=shape) if "int" in dtype else rng.uniform(-1, 1, size=shape)
        ins.append(drawn.astype(dtype))
    scalars = [float(s) if "." in s or "e" in s else int(s) for s in head(text, "scalars").split(",") if s.strip()]
    host = "kw_run" in text
    plan = parse_plan(text)
    tunables = {t.name: t.value for t in declared_tunables(text)}
    kernels = () if host else tuple(launch.kernel for launch in plan.launches)
    told = None if host else {"source": text, "tunables": tunables}
    flags = tuple(f"-D{k}={v}" for k, v in tunables.items())
    library = emulated(text, name=path.name, kernels=kernels, told=told, flags=flags)
    (answer,) = library.run(Call(ins, tensors(head(text, "out")), scalars))
    return answer, [*ins, *scalars]


@pytest.mark.parametrize("path", cases("broken"))
def test_it_is_caught_at_its_line(emulated: Callable[..., Emulated], path: Path) -> None:
    answer, _ = run(emulated, path)
    text = path.read_text(encoding="utf-8")
    kinds = head(text, "fault").split()
    marked = {i for i, line in enumerate(text.splitlines(), 1) if "<- fault" in line}
    assert answer.failure.partition(":")[0].replace(" ", "-") in kinds, answer.failure
    named = {int(n) for n in re.findall(rf"{re.escape(path.name)}:(\d+)", answer.failure)}
    assert named & marked, answer.failure


@pytest.mark.parametrize("path", cases("correct"))
def test_it_passes_and_is_right(emulated: Callable[..., Emulated], path: Path) -> None:
    answer, arguments = run(emulated, path)
    text = path.read_text(encoding="utf-8")
    assert not answer.failure
    count = len(tensors(head(text, "in")))
    names = {f"in{i}": a for i, a in enumerate(arguments[:count])}
    names |= {f"scalar{i}": a for i, a in enumerate(arguments[count:])}
    wanted = eval(head(text, "model"), {"np": np, **names})  # our own test files
    tolerance = float(head(text, "tolerance") or 0)
    for got, want in zip(answer.outs, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        if tolerance:
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
        else:
            assert np.array_equal(got, np.asarray(want, got.dtype))
