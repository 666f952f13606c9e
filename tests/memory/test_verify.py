"""A small ladder verified by the real judge: its numbers are stated, reproduced, and contradicted when false."""

import re
from pathlib import Path

import pytest

from kernelwright import wiring
from kernelwright.config import RunConfig, load_config
from kernelwright.memory.ladder_sessions import sessions_of
from kernelwright.memory.library import Library
from kernelwright.memory.verifications import latest
from kernelwright.records import Depth
from kernelwright.workspace import Workspace

TASK = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x * 2.0 + 1.0, min=0.0) * x


def get_inputs():
    return [torch.randn(512, 1024)]


def get_init_inputs():
    return []
"""
HEAD = """format: kernelwright/solution/1
id: small-chain
title: A small chain
description: Twice the input and one, cut off below zero, times the input.
family: elementwise
language: cpp
entry: c
torch_ops: [mul, add, clamp]
dtypes: [float32]
provenance: {author: tests, source: own work, created: '2026-01-31'}
licence: MIT
review: {state: proposed, reviewer: '', reason: ''}
"""
LADDER = """format: kernelwright/decisions/1
rungs:
  - name: stepwise
    files: [stepwise.cpp]
    decision: {technique: direct-translation, summary: One element at a time.}
    not_measured: not yet
  - name: vectors
    files: [vectors.cpp]
    decision: {technique: vector-lanes, summary: The compiler's vectors.}
    not_measured: not yet
"""
KERNEL = """#include "kernelwright.h"
extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {{
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t n = in[0].shape[0] * in[0].shape[1];
  for (int64_t i = 0; i < n; i++) {{
    {step}
    const float v = x[i] * 2.0f + 1.0f;
    y[i] = (v > 0.0f ? v : 0.0f) * x[i];
  }}
  return 0;
}}
"""
STEP = "volatile float wait = x[i]; for (int k = 0; k < 8; k++) wait = wait + 1.0f;"


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "workspace")
    folder = workspace.library / "small-chain"
    folder.mkdir(parents=True)
    texts = {"solution.yaml": HEAD, "decisions.yaml": LADDER}
    texts |= {"stepwise.cpp": KERNEL.format(step=STEP), "vectors.cpp": KERNEL.format(step="")}
    for name, text in texts.items():
        (folder / name).write_text(text)
    (tmp_path / "chain.py").write_text(TASK)
    return workspace


@pytest.fixture
def quick() -> RunConfig:
    return load_config(overrides=["judge.baselines=[eager]"])


@pytest.mark.slow
def test_numbers_are_stated_reproduced_and_contradicted(place: Workspace, quick: RunConfig, tmp_path: Path) -> None:
    task = str(tmp_path / "chain.py")
    told = wiring.verify_entry(place, "small-chain", quick, task=task, depth=Depth.FULL, write=True)
    assert set(told.rungs) == {"stepwise", "vectors"}, told
    first, second = Library(user=place.library, shipped=None).get("small-chain").rungs
    assert first.latency_us and second.latency_us and second.decision.measured is not None
    assert second.decision.measured.value > 1.5, "eight steps an element cost more than none"
    assert latest(place.verifications_file)["small-chain"].at == told.at

    again = wiring.verify_entry(place, "small-chain", quick, task=task, depth=Depth.FULL)
    for rung in again.rungs.values():  # on a busy machine times may move; then it says so, with both figures
        assert rung.startswith("reproduced") or "stated" in rung, again.rungs
    assert again.reproduced == all(rung.startswith("reproduced") for rung in again.rungs.values())
    assert not re.search(r"(^|; )gain ", again.rungs["vectors"]), "the step's gain is paired, so it must hold"

    file = place.library / "small-chain" / "decisions.yaml"
    text = file.read_text()
    gain = re.compile(r"measured: \{value: [^}]*against: stepwise\}")
    false, count = gain.subn("measured: {value: 90.0, low: 89.0, high: 91.0, pairs: 40, against: stepwise}", text)
    assert count == 1, text
    file.write_text(false)
    wrong = wiring.verify_entry(place, "small-chain", quick, task=task, depth=Depth.FULL)
    assert not wrong.reproduced and "90" in wrong.rungs["vectors"], wrong.rungs


@pytest.mark.slow
def test_several_sessions_say_how_much_a_number_varies(place: Workspace, quick: RunConfig, tmp_path: Path) -> None:
    task = str(tmp_path / "chain.py")
    for depth in (Depth.FULL, Depth.SCREEN, Depth.SCREEN):
        wiring.verify_entry(place, "small-chain", quick, task=task, depth=depth, write=True)
    kept = sessions_of(place.library / "small-chain")
    assert [s.depth for s in kept] == [Depth.FULL, Depth.SCREEN, Depth.SCREEN]
    gain = Library(user=place.library, shipped=None).get("small-chain").rungs[1].decision.measured
    assert gain is not None and gain.sessions == 3
    for session in kept:
        found = session.rungs["vectors"].gain
        assert found is not None and gain.low < found.value < gain.high
    again = wiring.verify_entry(place, "small-chain", quick, task=task, depth=Depth.SCREEN)
    for rung in again.rungs.values():
        assert rung.startswith("reproduced") or "over 3 sessions" in rung, again.rungs


@pytest.mark.slow
def test_a_rung_that_is_wrong_is_named(place: Workspace, quick: RunConfig, tmp_path: Path) -> None:
    file = place.library / "small-chain" / "vectors.cpp"
    file.write_text(file.read_text().replace("2.0f", "2.5f"))
    told = wiring.verify_entry(place, "small-chain", quick, task=str(tmp_path / "chain.py"), depth=Depth.SCREEN)
    assert not told.reproduced and "WRONG_VALUES" in told.rungs["vectors"], told.rungs
