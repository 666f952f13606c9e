"""How commands speak: results to stdout, progress and errors to stderr, one JSON document with ``--json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", "-w", help="Workspace folder (default: KERNELWRIGHT_WORKSPACE, else .kernelwright/)."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a module constant of the task, e.g. --set batch_size=16. Repeatable."),
]
ConfigOption = Annotated[
    list[Path] | None, typer.Option("--config", "-c", help="YAML overlay over configs/default.yaml. Repeatable.")
]
OptionOption = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", help="Any option as a.b=c, e.g. -o search.patience=3. Repeatable."),
]
RequireSandboxOption = Annotated[
    str | None,
    typer.Option(
        "--require-sandbox",
        metavar="TIER",
        help="Refuse to judge in a lower tier than this: bubblewrap, landlock or rlimits (any).",
    ),
]


def print_json(data: Any) -> None:
    """One JSON document on stdout."""
    json.dump(data, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")


def say(text: str) -> None:
    """A line of result."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """A line of progress."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
