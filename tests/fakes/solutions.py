"""Library entries as a person writes them: a ladder in C++ and a Halide recipe, as texts and as folders."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

HEAD = """\
format: kernelwright/solution/1
id: {id}
title: Separable box blur
description: >
  Mean over a square window, stride one: two passes of running sums instead of a nested window.
not_for: strides above one
family: {family}
task: {task}
language: cpp
entry: c
torch_ops: [F.avg_pool2d, box filter]
dtypes: [float32]
applies:
  ops: [avg_pool2d]
  ndim: 4
provenance:
  author: A. Author
  source: lecture on scheduling, page 12
  created: 2025-01-31
licence: Apache-2.0
review: {{state: {state}, reviewer: B. Reviewer, reason: measured twice}}
"""

LADDER = """\
# Written by hand: this line and the blank ones must survive a new measurement.
format: kernelwright/decisions/1
measured_on:
  cpu: Example CPU
  isa: avx512
  cores: 8
  versions: {torch: '2.13.0'}

rungs:
  - name: naive
    files: [naive.cpp]
    entry_file: naive.cpp
    decision:
      technique: naive
      summary: Nine taps a pixel.   # as the reference says it
      measured: {value: 0.5, low: 0.48, high: 0.52, pairs: 40, against: eager}
    work: 9 adds a pixel
    traffic_bytes: {default: 8388608}
    measured:
      default:
        latency_us: {median: 400.0, low: 396.0, high: 404.0, samples: 60}

  - name: two-passes
    files: [two_passes.cpp]
    entry_file: two_passes.cpp
    flags: [-funroll-loops]
    tunables:
      - {name: CHUNK, values: [8, 16, 32], value: 16}
    decision:
      technique: separable-window
      summary: Sums along rows, then along columns.
      bottleneck: compute
      predicted_speedup: 1.5
      measured: {value: 2.0, low: 1.95, high: 2.05, pairs: 40, against: naive}
    rejected:
      - what: a summed-area table
        why: it loses precision in float32
    work: 6 adds a pixel
    measured:
      default:
        latency_us: {median: 200.0, low: 198.0, high: 203.0, samples: 60}
    speedup: {value: 1.1, low: 1.08, high: 1.12, pairs: 40, against: compile}
"""

NAIVE = '#include "kernelwright.h"\nint kw_run(const kw_tensor* in) { return nine_taps(in); }\n'
TWO_PASSES = '#include "kernelwright.h"\nint kw_run(const kw_tensor* in) { return two_passes(in, CHUNK); }\n'

RECIPE_LADDER = """\
format: kernelwright/decisions/1
rungs:
  - name: inline
    decision:
      technique: inline
      summary: Everything in one loop.
    not_measured: compiled only
  - name: tiles
    tunables:
      - {name: TILE, values: [32, 64], value: 64}
    decision:
      technique: tile-and-fuse
      summary: Tiles of the output, producers inside.
      bottleneck: memory
      directives:
        - {func: "@output", verb: tile, args: [x, y, xi, yi, $TILE, 32]}
        - {func: "@producer", verb: compute_at, args: ["@output", x]}
    not_measured: compiled only
"""


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write a folder of texts; gives the folder back."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def a_ladder_folder(
    shelf: Path,
    id: str = "box-blur",
    *,
    family: str = "stencil",
    task: str = "box_blur_3x3",
    state: str = "promoted",
    edit: Mapping[str, str] | None = None,
) -> Path:
    """A measured C++ ladder of two rungs on ``shelf``.

    Args:
        shelf: folder of solutions.
        id: the solution's id and its folder's name.
        family: of the solution.
        task: the task it was made for; "" makes it general.
        state: of its review.
        edit: text -> what replaces it, in every file.
    """
    files = {
        "solution.yaml": HEAD.format(id=id, family=family, task=task or '""', state=state),
        "decisions.yaml": LADDER,
        "naive.cpp": NAIVE,
        "two_passes.cpp": TWO_PASSES,
    }
    for old, new in (edit or {}).items():
        files = {name: text.replace(old, new) for name, text in files.items()}
    return write_files(shelf / id, files)


def a_recipe_folder(shelf: Path, id: str = "tiles", *, edit: Mapping[str, str] | None = None) -> Path:
    """A general Halide recipe of two rungs, not measured."""
    head = textwrap.dedent(
        f"""\
        format: kernelwright/solution/1
        id: {id}
        title: Tiled stencil
        description: Fuses the stages of a stencil pipeline in tiles that stay in the cache.
        family: stencil
        language: halide
        entry: pipeline
        applies:
          ops_any: [avg_pool2d, convolution]
        provenance: {{author: A. Author, source: the Halide tutorials}}
        licence: Apache-2.0
        review: {{state: promoted}}
        """
    )
    files = {"solution.yaml": head, "decisions.yaml": RECIPE_LADDER}
    for old, new in (edit or {}).items():
        files = {name: text.replace(old, new) for name, text in files.items()}
    return write_files(shelf / id, files)
