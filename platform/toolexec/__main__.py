"""``python -m kernelwright.toolexec TASK CANDIDATE ...``: judge candidates where only what judging needs is installed.

TASK is a task record (``Task.save``) or a KernelBench file; CANDIDATE a candidate.json, a source file or a folder. One
Evaluation a line, as JSON, on stdout. Beside the standard library it imports pydantic, numpy and torch with what these
bring (and, on a GPU, triton and cupy): neither the agents nor the library nor YAML. A test holds it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright.errors import KernelwrightError
from kernelwright.protocols import JudgeSettings
from kernelwright.records import Candidate, Depth, Task
from kernelwright.tasks.candidate_files import load_candidate
from kernelwright.tasks.kernelbench import KernelBenchLoader
from kernelwright.toolexec.executors.local import LocalExecutor


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m kernelwright.toolexec", description="Judge candidates; JSON lines.")
    made.add_argument("task", type=Path, help="a task record (JSON) or a KernelBench file")
    made.add_argument("candidates", type=Path, nargs="+", help="candidate.json, a source file or a folder")
    made.add_argument("--device", default="cpu", help="cpu, none, ... (default: %(default)s)")
    made.add_argument("--arch", default="", help="GPU architecture to compile for, e.g. sm_90a")
    made.add_argument("--depth", default="full", choices=list(Depth), help="default: %(default)s")
    made.add_argument("--threads", type=int, default=1, help="threads a kernel may use")
    made.add_argument("--baselines", default="eager", help="comma-separated names (default: %(default)s)")
    made.add_argument("--cache", type=Path, default=None, help="folder of builds and baselines")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge; 0 when all passed or, on device none, compiled; 1 when one did not; 2 or 3 for errors."""
    given = parser().parse_args(arguments)
    settings = JudgeSettings(
        device=given.device,
        threads=given.threads,
        baselines=tuple(name for name in given.baselines.split(",") if name),
        cache_dir=given.cache,
    )
    try:
        task = load_task(given.task)
        candidates = [load_candidate(path) for path in given.candidates]
        failed = 0
        with LocalExecutor().open(task, settings=settings, progress=_progress) as session:
            for candidate in candidates:
                verdict = session.evaluate(_aimed(candidate, given.arch), depth=Depth(given.depth))
                sys.stdout.write(json.dumps(verdict.to_json(), default=str) + "\n")
                sys.stdout.flush()
                failed += verdict.failure is not None
        return 1 if failed else 0
    except KernelwrightError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code


def load_task(path: Path) -> Task:
    """A task from its record or from a KernelBench file.

    Raises:
        TaskError: neither.
    """
    if path.suffix == ".json":
        return Task.load(path)
    return KernelBenchLoader().load(path, overrides={})


def _aimed(candidate: Candidate, architecture: str) -> Candidate:
    return candidate.model_copy(update={"architecture": architecture}) if architecture else candidate


def _progress(kind: str, data: Mapping[str, Any]) -> None:
    if message := data.get("message"):
        sys.stderr.write(f"  {message}\n")


if __name__ == "__main__":
    sys.exit(main())
