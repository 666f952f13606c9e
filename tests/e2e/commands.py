"""Runs kernelwright's command line in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SMALL_TASK = """
import torch

ROWS = 32
COLUMNS = 257


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x * 2.0 + 1.0, min=0.0) * x


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
"""
"""A pointwise chain in KernelBench's form: quick to judge."""


@dataclass(frozen=True)
class Said:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its stdout as JSON."""
        return json.loads(self.out)


def environment(workspace: Path, **extra: str) -> dict[str, str]:
    """The environment of a command, with a workspace of its own."""
    return {**os.environ, "KERNELWRIGHT_WORKSPACE": str(workspace), **extra}


def kernelwright(*args: object, workspace: Path, cwd: Path | None = None, timeout: float = 300, **extra: str) -> Said:
    """Run one command to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=cwd,
        env=environment(workspace, **extra),
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def small_task(folder: Path, text: str = SMALL_TASK, name: str = "chain") -> Path:
    """Write a task file."""
    path = folder / f"{name}.py"
    path.write_text(text)
    return path
