"""compute-sanitizer: where it is, its command line, and what its report says of a kernel.

Owns reading its words; it starts nothing. Source: "Compute Sanitizer" documentation, "Memcheck tool", "Racecheck tool",
"Command line options".
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.toolexec.languages.toolchain import cuda_roots

HOW_TO_GET = "`apt-get install cuda-sanitizer-13-0` from NVIDIA's repository, or the CUDA toolkit's installer"
TOOLS = ("memcheck", "racecheck", "synccheck")
SUMMARY = re.compile(
    r"ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, \d+ warnings?\)"
)
MARKED = re.compile(r"^=+ ?")
NO_ERROR = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "Saved host backtrace", "Host Frame")


class Unreadable(Exception):
    """The report says neither good nor bad; its text says why, in a line."""


@dataclass(frozen=True)
class Report:
    """What a tool found."""

    tool: str
    errors: int
    first: str
    """The first finding in a line; "" for none."""


def program() -> Path | None:
    """Where compute-sanitizer lies; None when it is not installed."""
    found = shutil.which("compute-sanitizer")
    if found:
        return Path(found)
    beside = [root / part / "compute-sanitizer" for root in cuda_roots() for part in ("bin", "compute-sanitizer")]
    return next((p for p in beside if p.is_file() and os.access(p, os.X_OK)), None)


def command(sanitizer: Path, tool: str, argv: Sequence[str]) -> list[str]:
    """The tool around a program; backtraces of the host are ours and say nothing."""
    return [str(sanitizer), "--tool", tool, "--show-backtrace", "no", "--print-limit", "5", *argv]


def parse(text: str, tool: str) -> Report:
    """What was found.

    Args:
        text: all that the tool printed.
        tool: which.

    Raises:
        Unreadable: it did not come to a summary.
    """
    summary = SUMMARY.findall(text)
    lines = [MARKED.sub("", line).strip() for line in text.splitlines() if line.startswith("=====")]
    told = [line for line in lines if line and not line.startswith(NO_ERROR)]
    if not summary:
        raise Unreadable(told[0][:200] if told else "it came to no summary")
    errors = int(next(count for count in summary[-1] if count))
    return Report(tool, errors, " ".join(told[:3])[:300] if errors else "")
