"""Language ``torch``: a Python file with ``ModelNew``, as in KernelBench.

Owns writing the file with its tunables (module constants) set. It parses and never imports it: that is the worker's.
"""

from __future__ import annotations

import ast
import os
import shutil
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kernelwright.errors import KernelwrightError
from kernelwright.protocols import Availability, BuildResult
from kernelwright.records import Candidate, Task, TaskFacts, content_hash
from kernelwright.tasks.source import with_overrides


class TorchLanguage:
    """torch candidates. Stateless."""

    name = "torch"
    entry = "module"

    def availability(self) -> Availability:
        """Is torch installed? Does not import it."""
        try:
            return Availability(True, f"torch {version('torch')}")
        except PackageNotFoundError:
            return Availability(False, "torch is not installed: pip install torch")

    def build(
        self, candidate: Candidate, facts: TaskFacts, *, workload: str, folder: Path, timeout_s: float
    ) -> BuildResult:
        """Write the files, the entry file with its tunables set."""
        start = time.monotonic()
        if candidate.flags:
            return BuildResult(False, None, "torch candidates take no compiler flags", 0.0)
        try:
            text = self.text(candidate)
        except (KernelwrightError, SyntaxError) as error:
            return BuildResult(False, None, str(error)[:1500], time.monotonic() - start)
        if not defines(text, "ModelNew"):
            log = f"{candidate.entry_file} defines no class ModelNew"
            return BuildResult(False, None, log, time.monotonic() - start)
        target = folder / f"torch-{content_hash(candidate.model_dump(mode='json'), length=24)}"
        artifact = target / candidate.entry_file
        if artifact.exists():
            return BuildResult(True, artifact, "", time.monotonic() - start, cached=True)
        work = Path(tempfile.mkdtemp(prefix=".torch-", dir=folder))
        for file in candidate.files:
            (work / file.path).write_text(file.text, encoding="utf-8")
        (work / candidate.entry_file).write_text(text, encoding="utf-8")
        try:
            os.replace(work, target)
        except OSError:  # another process was quicker
            shutil.rmtree(work, ignore_errors=True)
        return BuildResult(True, artifact, "", time.monotonic() - start)

    def export(self, candidate: Candidate, task: Task, facts: TaskFacts) -> str:
        """The file itself, with its tunables set."""
        return self.text(candidate)

    def guide(self) -> str:
        """What an author has to know."""
        return (Path(__file__).parent / "torch_guide.md").read_text(encoding="utf-8")

    def text(self, candidate: Candidate) -> str:
        """The entry file with its tunables as module constants.

        Raises:
            KernelwrightError, SyntaxError: it cannot be parsed, or lacks a constant.
        """
        text = candidate.text(candidate.entry_file)
        ast.parse(text)
        values = candidate.tunable_values()
        return with_overrides(text, values, where=candidate.entry_file) if values else text


def defines(text: str, name: str) -> bool:
    """Does a module define or import a name at its top level?"""
    for node in ast.parse(text).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return True
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if any((a.asname or a.name) == name for a in node.names):
                return True
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return True
    return False
