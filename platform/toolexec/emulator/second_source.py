"""A second source for Triton candidates, where it is installed: ttsem runs the intermediate code of each launch.

Owns asking it and what is said of its answer. It sees what the interpreter cannot, races between programs; it is young,
so that what it finds is a note beside the verdict and never the verdict.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kernelwright.toolexec.languages.gpu_compile import run_tool
from kernelwright.toolexec.owned_folder import OwnedFolder

CHILD = Path(__file__).parent / "ttsem_child.py"
MARK = "kernelwright-ttsem: "
MOST = 500
"""Characters of a note."""


def available() -> str:
    """``ttsem 0.1.0``; "" where it is not installed (``pip install --no-deps --ignore-requires-python ttsem``)."""
    if importlib.util.find_spec("ttsem") is None:
        return ""
    try:
        return f"ttsem {version('ttsem')}"
    except PackageNotFoundError:
        return "ttsem"


def asked(
    file: Path,
    *,
    inputs: Sequence[tuple[str, Sequence[int]]],
    init_args: Sequence[Any] | None,
    call: Any,
    timeout_s: float,
) -> str:
    """What ttsem says of one forward pass; "" where it is not installed.

    Args:
        file: the candidate's entry file, its other files beside it.
        inputs: dtype and shape of each input; they are drawn at random.
        init_args: of ModelNew; None: the file's own get_init_inputs().
        call: arguments of forward as LoadSpec has them.
        timeout_s: wall time.
    """
    name = available()
    if not name:
        return ""
    own = OwnedFolder(file.parent.parent, ".ttsem-")
    try:
        work = own.path / "work"
        work.mkdir()
        for each in file.parent.iterdir():
            if each.is_file():
                (work / each.name).write_bytes(each.read_bytes())
        job = {
            "file": file.name,
            "inputs": [{"dtype": dtype, "shape": list(shape)} for dtype, shape in inputs],
            "init_args": None if init_args is None else list(init_args),
            "call": call,
        }
        (work / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = [sys.executable, "-I", "-B", str(CHILD), "job.json"]
        done = run_tool(command, folder=work, timeout_s=timeout_s, readable=[CHILD.parent])
        return f"{name}: {_said(done.output, timeout_s)}"[:MOST]
    finally:
        own.close()


def _said(output: str, timeout_s: float) -> str:
    line = next((x for x in reversed(output.splitlines()) if x.startswith(MARK)), "")
    try:
        told = json.loads(line.removeprefix(MARK))
        verdict, launches, message = str(told["verdict"]), int(told["launches"]), " ".join(str(told["message"]).split())
        unchecked = int(told["unchecked"])
    except (ValueError, KeyError, TypeError):
        return f"no answer within {timeout_s:.0f} s" if "needed more than" in output else "gave no answer"
    if verdict == "ok":
        large = f"; {unchecked} too large to be looked at for races" if unchecked else ""
        return f"no fault in {launches} launches{large}"
    if verdict in ("unsupported", "error"):
        return f"could not judge it: {message}"
    return f"{verdict}: {message}"
