"""Python files with ModelNew whose kernels a compiler of Python makes ahead, for shapes that are stated.

Owns the ``compile`` lines of such languages: ``# compile: scale(x: float32[R, C], n: int32, TILE: 128)`` names a
function of the file and its arguments: tensors with dtype and shape (expressions over the task's axes, as ``in0[0]``,
and tunables), numbers by dtype, constants. ``launch`` lines without args, as launch.py reads them, tell the occupancy
calculator grid, block and dynamic shared memory. The compiler runs in a confined child: importing the file is running
it. What it leaves is a stranger's word and is read as such.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from kernelwright.protocols import Availability, BuildResult
from kernelwright.records import Candidate, TaskFacts, content_hash
from kernelwright.toolexec.languages.cubin import CubinError, read_cubin_file
from kernelwright.toolexec.languages.gpu_compile import run_tool
from kernelwright.toolexec.languages.gpu_language import DEFAULT_ARCHITECTURE
from kernelwright.toolexec.languages.launch import Borders, LaunchError, closing, parse_plan
from kernelwright.toolexec.languages.launch_expressions import Value, evaluate, integer, parse_items
from kernelwright.toolexec.languages.occupancy import ARCHITECTURES
from kernelwright.toolexec.languages.sass import disassemble
from kernelwright.toolexec.languages.static_facts import Static, Use, kernel_facts, launch_problems, uses_of
from kernelwright.toolexec.languages.torch import TorchLanguage
from kernelwright.toolexec.owned_folder import OwnedFolder

HERE = Path(__file__).parent
TIMEOUT_S = 180.0
MOST = 1480
_LINE = re.compile(r"^\s*#\s*compile:\s*([A-Za-z_]\w*)\s*\((.*)$")
_MORE = re.compile(r"^\s*#\s{3,}(\S.*)$")
_DTYPES = "float64|float32|float16|bfloat16|float8_e4m3fn|float8_e5m2|int64|int32|int16|int8|uint8|bool"
_TENSOR = re.compile(rf"({_DTYPES})\s*\[(.*)\]")
_NUMBER = re.compile(_DTYPES)


@dataclass(frozen=True)
class Ahead:
    """One function to be compiled."""

    function: str
    arguments: tuple[dict[str, Any], ...]
    """In order: name, and ``tensor`` (dtype, shape), ``number`` (dtype) or ``constant``."""


class AheadLanguage(TorchLanguage):
    """What the languages have in common. Stateless; a language names its parts.

    A build is the candidate's files, and beside them a folder an architecture with ``N.cubin`` (and ``N.ptx``) of the
    N-th line.
    """

    distribution: ClassVar[str]
    """Its package; whether that is installed decides whether the language is here."""
    requirement: ClassVar[str]
    """What pip is told."""
    child: ClassVar[str]
    """The script that compiles, beside this file."""
    guide_file: ClassVar[str]

    def availability(self) -> Availability:
        """Is the compiler installed? Does not import it."""
        try:
            return Availability(True, f"{self.distribution} {version(self.distribution)}: compiles without a GPU")
        except PackageNotFoundError:
            command = f'{sys.executable} -m pip install "{self.requirement}"'
            return Availability(False, f"{self.distribution} is missing, which compiles {self.name} kernels: {command}")

    def build(
        self, candidate: Candidate, facts: TaskFacts, *, workload: str, folder: Path, timeout_s: float
    ) -> BuildResult:
        """Write the files; compile ahead when an architecture is stated."""
        start = time.monotonic()
        here = self.availability()
        if not here.ok:
            return BuildResult(False, None, f"error: {here.detail}", 0.0)
        if candidate.architecture not in ("native", *ARCHITECTURES):
            return BuildResult(False, None, f"error: unknown architecture {candidate.architecture}", 0.0)
        own = OwnedFolder(folder, f".{self.name}-")
        try:
            lines = self._lines(candidate, facts, workload)
            told = [candidate.model_dump(mode="json"), here.detail, [n.arguments for n in lines]]
            key = content_hash(told, length=24)
            private = folder / f"{self.name}-{key}"
            artifact = private / candidate.entry_file
            if (private / "done").exists():
                return BuildResult(True, artifact, "", time.monotonic() - start, cached=True)
            written = super().build(candidate, facts, workload=workload, folder=own.path, timeout_s=timeout_s)
            if not written.ok or written.artifact is None:
                return BuildResult(False, None, f"error: {written.log}"[:MOST], time.monotonic() - start)
            if candidate.architecture != "native":
                self._compile(written.artifact, candidate, lines, candidate.architecture, timeout_s)
            (written.artifact.parent / "done").touch()
            put(written.artifact.parent, private)
            return BuildResult(True, artifact, "", time.monotonic() - start)
        except (LaunchError, CubinError, SyntaxError) as error:
            return BuildResult(False, None, f"error: {error}"[:MOST], time.monotonic() - start)
        finally:
            own.close()

    def statics(self, build: Path, candidate: Candidate, facts: TaskFacts) -> Static:
        """What the ``compile`` lines' kernels are made of, at the last workload's shapes.

        Raises:
            CubinError: one of them does not compile.
        """
        architecture = DEFAULT_ARCHITECTURE if candidate.architecture == "native" else candidate.architecture
        folder = build.parent / architecture
        lines = self._lines(candidate, facts, facts.workloads[-1].workload)
        if not folder.exists():
            self._compile(build, candidate, lines, architecture, TIMEOUT_S)
        found, made = Static(()), []
        plan = parse_plan(candidate.text(candidate.entry_file))
        for number in range(len(lines)):
            path = folder / f"{number}.cubin"
            codes = {c.kernel: c for c in disassemble(path) or ()}
            kernels = read_cubin_file(path)
            uses = uses_of(plan, candidate.tunable_values(), facts, kernels, found.notes)
            for kernel in kernels:
                use = uses.get(kernel.name, Use())
                made.append(kernel_facts(kernel, use, None, codes.get(kernel.name), architecture))
                found.problems += launch_problems(kernel, use, architecture)
        if not lines:
            found.notes.append("no line `# compile: FUNCTION(argument: dtype[shape], ...)`: nothing was compiled ahead")
        found.kernels = tuple(made)
        return found

    def guide(self) -> str:
        """What an author has to know."""
        return (HERE / self.guide_file).read_text(encoding="utf-8")

    def _lines(self, candidate: Candidate, facts: TaskFacts, workload: str) -> list[Ahead]:
        told = next((w for w in facts.workloads if w.workload == workload), None)
        if told is None:
            raise LaunchError(f"the task has no workload {workload}")
        return compile_lines(candidate.text(candidate.entry_file), Borders.of(told), candidate.tunable_values())

    def _compile(
        self, file: Path, candidate: Candidate, lines: list[Ahead], architecture: str, timeout_s: float
    ) -> None:
        """Compile all lines into a folder beside the file."""
        own = OwnedFolder(file.parent, ".compile-")
        try:
            work = own.path / "work"
            work.mkdir()
            for other in candidate.files:
                (work / other.path).write_text((file.parent / other.path).read_text(encoding="utf-8"), encoding="utf-8")
            functions = [{"function": n.function, "arguments": list(n.arguments)} for n in lines]
            job = {"file": file.name, "architecture": architecture, "functions": functions}
            (work / "job.json").write_text(json.dumps(job), encoding="utf-8")
            if lines:
                child = HERE / self.child
                command = [sys.executable, "-I", "-B", str(child), "job.json"]
                done = run_tool(command, folder=work, timeout_s=timeout_s, readable=[HERE])
                if not done.ok:
                    raise CubinError(trimmed(done.output, str(work)))
            out = own.path / "out"
            out.mkdir()
            self._finish(work, out, len(lines), architecture, timeout_s)
            put(out, file.parent / architecture)
        finally:
            own.close()

    def _finish(self, work: Path, out: Path, count: int, architecture: str, timeout_s: float) -> None:
        """Take what the child left: N.cubin, and N.ptx where there is one."""
        for number in range(count):
            for kind, needed in (("cubin", True), ("ptx", False)):
                made = work / f"{number}.{kind}"
                if made.is_file() and not made.is_symlink():  # the child ran a stranger's code
                    made.rename(out / made.name)
                elif needed:
                    raise CubinError(f"compiling left no {made.name}")


def joined_lines(text: str) -> list[str]:
    """``FUNCTION(...`` of each ``compile`` line, with the lines that continue it."""
    found: list[str] = []
    open_ = False
    for line in text.splitlines():
        if match := _LINE.match(line):
            found.append(f"{match[1]}({match[2].strip()}")
            open_ = True
        elif open_ and (match := _MORE.match(line)):
            found[-1] += f" {match[1].strip()}"
        else:
            open_ = False
    return found


def compile_lines(text: str, borders: Borders, tunables: Mapping[str, Value]) -> list[Ahead]:
    """The ``compile`` lines of a source, bound to a workload's shapes.

    Raises:
        LaunchError: one that cannot be understood.
    """
    return [_parsed(body, borders, tunables) for body in joined_lines(text)]


def _parsed(body: str, borders: Borders, tunables: Mapping[str, Value]) -> Ahead:
    start = body.index("(") + 1
    end = closing(body, start)
    function = body[: start - 1]
    arguments = []
    for item in parse_items(body[start:end]):
        name, separator, told = (part.strip() for part in item.partition(":"))
        if not separator or not name.isidentifier():
            form = "argument: dtype[shape], dtype or number"
            raise LaunchError(f"compile {function}: {item!r} is not of the form {form}")
        arguments.append({"name": name, **_argument(function, told, borders, tunables)})
    return Ahead(function, tuple(arguments))


def _argument(function: str, told: str, borders: Borders, tunables: Mapping[str, Value]) -> dict[str, Any]:
    if match := _TENSOR.fullmatch(told):
        return {"tensor": [match[1], [integer(size, borders, tunables) for size in parse_items(match[2])]]}
    if _NUMBER.fullmatch(told):
        return {"number": told}
    if told in ("True", "False"):
        return {"constant": told == "True"}
    if re.fullmatch(r"\"[\w. ]*\"|'[\w. ]*'", told):
        return {"constant": told[1:-1]}
    if told in tunables:
        return {"constant": tunables[told]}
    try:
        return {"constant": evaluate(told, borders, tunables)}
    except LaunchError as error:
        raise LaunchError(f"compile {function}: {told!r} is no dtype[shape], dtype or number: {error}") from error


def trimmed(output: str, folder: str) -> str:
    """What a child said went wrong, short and without paths of this machine."""
    output = output.replace(f"{folder}/", "").replace(folder, ".")
    at = output.rfind("kernelwright-error: ")
    text = output[at + 20 :] if at >= 0 else output.strip()[-1000:]
    text = re.sub(r"(?:/[^\s:()\"']+)+/([^\s:()\"'/]+)", r"\1", text)
    return text.strip()[:1400] or "the compiler failed and said nothing"


def put(made: Path, target: Path) -> None:
    """Move what was made to its place; another process may have been quicker."""
    try:
        made.rename(target)
    except OSError:
        if not target.exists():
            raise
