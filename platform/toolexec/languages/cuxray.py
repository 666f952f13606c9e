"""A second source on a cubin, where it is installed: what cuxray suggests, as notes beside our own facts.

Owns asking it and what is said of its answer; it decides nothing. It is an optional tool of others' (Apache-2.0, ``pip
install "cuxray==0.6.*"``) and runs confined, without a network: the disassemblers that it would fetch have to be here.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kernelwright.toolexec.languages.gpu_compile import run_tool
from kernelwright.toolexec.languages.toolchain import Tool, cuobjdump, nvdisasm
from kernelwright.toolexec.owned_folder import OwnedFolder

TIMEOUT_S = 30.0
MOST, LENGTH = 4, 300
"""Notes, and characters of one."""


def available() -> str:
    """``cuxray 0.6.0``; "" where it, nvdisasm or cuobjdump is not installed."""
    try:
        found = version("cuxray")
    except PackageNotFoundError:
        return ""
    return f"cuxray {found}" if nvdisasm() is not None and cuobjdump() is not None else ""


def suggestions(cubin: Path, *, threads: int | None, folder: Path) -> list[str]:
    """What it suggests for the kernels of a cubin, most weighty first; [] where it is not installed.

    Args:
        cubin: of a finished build.
        threads: of a block, where that is known.
        folder: where a folder of its own may be made.
    """
    name = available()
    if not name:
        return []
    tools = [tool for tool in (nvdisasm(), cuobjdump()) if tool is not None]
    own = OwnedFolder(folder, ".cuxray-")
    try:
        work = own.path / "work"
        work.mkdir()
        shutil.copyfile(cubin, work / "kernel.cubin")
        asked = ["advise", "kernel.cubin", "--json", "--no-cache", *(["--threads", str(threads)] if threads else [])]
        command = ["env", f"PATH={_path(tools)}", sys.executable, "-I", "-B", "-m", "cuxray", *asked]
        places = [place for tool in tools for place in tool.places]
        done = run_tool(command, folder=work, timeout_s=TIMEOUT_S, readable=places)
        if not done.ok:
            return [f"{name} gave no answer: {' '.join(done.output.split())[-160:]}"]
        return [f"{name} (static): {text}" for text in read(done.output)]
    finally:
        own.close()


def _path(tools: list[Tool]) -> str:
    return os.pathsep.join([*(str(tool.path.parent) for tool in tools), os.environ.get("PATH", os.defpath)])


def read(output: str) -> list[str]:
    """Its answer (``cuxray.advise/1``) as sentences; [] when it is in no form that is known here."""
    start = output.find("{")
    try:
        told = json.JSONDecoder().raw_decode(output[start:])[0] if start >= 0 else {}
    except ValueError:
        return []
    results = told.get("results") if isinstance(told, dict) else None
    rows = [row for result in results for row in _actions(result)] if isinstance(results, list) else []
    rows.sort(key=lambda row: -row[0])
    return [" ".join(text.split())[:LENGTH] for _, text in rows[:MOST]]


def _actions(result: Any) -> list[tuple[float, str]]:
    """(impact, sentence) of each action of a kernel."""
    actions = result.get("actions") if isinstance(result, dict) else None
    found = []
    for action in actions if isinstance(actions, list) else []:
        if isinstance(action, dict) and isinstance(action.get("title"), str):
            impact = action.get("impact")
            sure = action.get("confidence", "unknown")
            text = f"{result.get('kernel', '?')}: {action['title']} ({sure} confidence); {action.get('detail', '')}"
            found.append((float(impact) if isinstance(impact, int | float) else 0.0, text))
    return found
