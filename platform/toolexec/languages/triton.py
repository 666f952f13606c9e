"""Language ``triton``: Python files with ModelNew whose Triton kernels are compiled ahead, without a GPU.

Owns the build and the ``compile`` lines: ``# compile: add(x: *fp32, n: i32, BLOCK: 1024) num_warps=4 grid(..)`` names a
kernel's argument types (``*fp32`` a pointer, ``i32 % 16`` an integer divisible by 16) and constants; tunables may stand
for values. Triton itself runs in a confined child (triton_child.py): importing the file is running it.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kernelwright.protocols import Availability, BuildResult
from kernelwright.records import Candidate, TaskFacts, content_hash
from kernelwright.toolexec.languages.ahead import joined_lines, put
from kernelwright.toolexec.languages.cubin import CubinError, read_cubin_file
from kernelwright.toolexec.languages.gpu_compile import run_tool
from kernelwright.toolexec.languages.gpu_language import DEFAULT_ARCHITECTURE
from kernelwright.toolexec.languages.launch import Borders, BoundLaunch, LaunchError, closing
from kernelwright.toolexec.languages.launch_expressions import Value, integer, parse_items
from kernelwright.toolexec.languages.occupancy import ARCHITECTURES
from kernelwright.toolexec.languages.sass import disassemble
from kernelwright.toolexec.languages.static_facts import Static, Use, kernel_facts, launch_problems
from kernelwright.toolexec.languages.torch import TorchLanguage
from kernelwright.toolexec.owned_folder import OwnedFolder

CHILD = Path(__file__).parent / "triton_child.py"
TIMEOUT_S = 120.0
WARP = 32
_TYPE = re.compile(r"\*?(?:i1|u?i(?:8|16|32|64)|i(?:8|16|32|64)|u(?:8|16|32|64)|fp(?:16|32|64)|bf16|fp8e\w+)")


@dataclass(frozen=True)
class Compile:
    """One kernel to be compiled ahead."""

    kernel: str
    types: dict[str, str]
    """Argument -> Triton's type, for those that are not constants."""
    divisible: tuple[str, ...]
    """Arguments that are multiples of 16; pointers always are."""
    constants: dict[str, int | float | bool | str]
    num_warps: int
    num_stages: int
    grid: tuple[str, ...]
    """Expressions; () when not told."""


class TritonLanguage(TorchLanguage):
    """Triton candidates. Stateless."""

    name = "triton"

    def availability(self) -> Availability:
        """Is Triton here?"""
        try:
            return Availability(True, f"triton {version('triton')}: compiles without a GPU, runs on one")
        except PackageNotFoundError:
            command = f'{sys.executable} -m pip install "triton>=3.4"'
            return Availability(False, f"triton is missing, which compiles these kernels: {command}")

    def build(
        self, candidate: Candidate, facts: TaskFacts, *, workload: str, folder: Path, timeout_s: float
    ) -> BuildResult:
        """Write the files; compile ahead when an architecture is stated."""
        start = time.monotonic()
        if not self.availability().ok:
            return BuildResult(False, None, f"error: {self.availability().detail}", 0.0)
        if candidate.architecture not in ("native", *ARCHITECTURES):
            return BuildResult(False, None, f"error: unknown architecture {candidate.architecture}", 0.0)
        private = folder / f"triton-{content_hash([candidate.model_dump(mode='json'), version('triton')], length=24)}"
        artifact = private / candidate.entry_file
        if (private / "done").exists():
            return BuildResult(True, artifact, "", time.monotonic() - start, cached=True)
        own = OwnedFolder(folder, ".triton-")
        try:
            written = super().build(candidate, facts, workload=workload, folder=own.path, timeout_s=timeout_s)
            if not written.ok or written.artifact is None:
                return BuildResult(False, None, f"error: {written.log}"[:1480], time.monotonic() - start)
            if candidate.architecture != "native":
                self._compile(written.artifact, candidate, candidate.architecture, timeout_s)
            (written.artifact.parent / "done").touch()
            put(written.artifact.parent, private)
            return BuildResult(True, artifact, "", time.monotonic() - start)
        except (LaunchError, CubinError) as error:
            return BuildResult(False, None, f"error: {error}"[:1480], time.monotonic() - start)
        finally:
            own.close()

    def statics(self, build: Path, candidate: Candidate, facts: TaskFacts) -> Static:
        """What the ``compile`` lines' kernels are made of.

        Raises:
            CubinError: one of them does not compile.
        """
        architecture = DEFAULT_ARCHITECTURE if candidate.architecture == "native" else candidate.architecture
        folder = build.parent / architecture
        if not folder.exists():
            self._compile(build, candidate, architecture, TIMEOUT_S)
        found = Static(())
        made = []
        for number, line in enumerate(compile_lines(self.text(candidate), candidate.tunable_values())):
            path = folder / f"{number}.cubin"
            told = _told(path.with_suffix(".json"))
            kernels = read_cubin_file(path)
            if len(kernels) != 1:
                raise CubinError(f"{line.kernel} became {len(kernels)} kernels")
            kernel = kernels[0]
            use = Use(_launches(line, told, facts, candidate.tunable_values()))
            code = next(iter(disassemble(path) or ()), None)
            made.append(kernel_facts(kernel, use, None, code, architecture))
            found.problems += launch_problems(kernel, use, architecture)
        if not made:
            found.notes.append("no line `# compile: KERNEL(argument: type, ...)`: nothing was compiled ahead")
        found.kernels = tuple(made)
        return found

    def guide(self) -> str:
        """What an author has to know."""
        return (Path(__file__).parent / "triton_guide.md").read_text(encoding="utf-8")

    def _compile(self, file: Path, candidate: Candidate, architecture: str, timeout_s: float) -> None:
        """Compile all ``compile`` lines into a folder beside the file."""
        lines = compile_lines(self.text(candidate), candidate.tunable_values())
        own = OwnedFolder(file.parent, ".compile-")
        try:
            work = own.path / "work"
            work.mkdir()
            for other in candidate.files:
                (work / other.path).write_text((file.parent / other.path).read_text(encoding="utf-8"), encoding="utf-8")
            capability = int(re.sub(r"\D", "", architecture))
            job = {"file": file.name, "capability": capability, "kernels": [_job(n) for n in lines]}
            (work / "job.json").write_text(json.dumps(job), encoding="utf-8")
            command = [sys.executable, "-I", "-B", str(CHILD), "job.json"]
            if lines:
                done = run_tool(command, folder=work, timeout_s=timeout_s, readable=[CHILD.parent])
                if not done.ok:
                    raise CubinError(_trimmed(done.output, str(work)))
            out = own.path / "out"
            out.mkdir()
            for name in (f"{n}.{kind}" for n in range(len(lines)) for kind in ("cubin", "ptx", "json")):
                if (work / name).is_symlink() or not (work / name).is_file():  # the child ran a stranger's code
                    raise CubinError(f"compiling left no {name}")
                (work / name).rename(out / name)
            put(out, file.parent / architecture)
        finally:
            own.close()


def compile_lines(text: str, tunables: Mapping[str, Value]) -> list[Compile]:
    """The ``compile`` lines of a source.

    Raises:
        LaunchError: one that cannot be understood.
    """
    return [_parsed(body, tunables) for body in joined_lines(text)]


def _parsed(body: str, tunables: Mapping[str, Value]) -> Compile:
    start = body.index("(") + 1
    end = closing(body, start)
    kernel, rest = body[: start - 1], body[end + 1 :]
    types: dict[str, str] = {}
    constants: dict[str, int | float | bool | str] = {}
    divisible = []
    for item in parse_items(body[start:end]):
        name, separator, value = (part.strip() for part in item.partition(":"))
        typed, _, multiple = (part.strip() for part in value.partition("%"))
        if not separator or not name.isidentifier() or multiple not in ("", "16"):
            raise LaunchError(f"compile {kernel}: {item!r} is not of the form argument: type, or argument: constant")
        if _TYPE.fullmatch(typed):
            types[name] = typed
            divisible += [name] if multiple or typed.startswith("*") else []
        else:
            constants[name] = _constant(kernel, value, tunables)
    grid = re.search(r"grid\s*\(", rest)
    sizes = parse_items(rest[grid.end() : closing(rest, grid.end())]) if grid else []

    def option(name: str, default: int) -> int:
        match = re.search(rf"{name}\s*=\s*(\w+)", rest)
        value = _constant(kernel, match[1], tunables) if match else default
        if not isinstance(value, int) or not 1 <= value <= 64:
            raise LaunchError(f"compile {kernel}: {name} = {value} is not within 1 and 64")
        return value

    warps, stages = option("num_warps", 4), option("num_stages", 3)
    return Compile(kernel, types, tuple(divisible), constants, warps, stages, tuple(sizes))


def _constant(kernel: str, text: str, tunables: Mapping[str, Value]) -> int | float | bool | str:
    if text in tunables:
        return tunables[text]
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if re.fullmatch(r"\"[\w. ]*\"|'[\w. ]*'", text):
        return text[1:-1]
    raise LaunchError(f"compile {kernel}: {text!r} is no type of Triton's, no number and no tunable")


def _job(line: Compile) -> dict[str, object]:
    return {
        "kernel": line.kernel,
        "types": line.types,
        "divisible": line.divisible,
        "constants": line.constants,
        "num_warps": line.num_warps,
        "num_stages": line.num_stages,
    }


def _launches(
    line: Compile, told: Mapping[str, int], facts: TaskFacts, tunables: Mapping[str, Value]
) -> dict[str, BoundLaunch]:
    """Workload -> the launch, where the line tells a grid; block and memory are what Triton chose."""
    found = {}
    known = {**tunables, **{k: v for k, v in line.constants.items() if not isinstance(v, (bool, str))}}
    for workload in facts.workloads:
        borders = Borders.of(workload)
        sizes: Sequence[int] = [integer(text, borders, known) for text in line.grid] + [1, 1, 1]
        grid = (sizes[0], sizes[1], sizes[2]) if line.grid else (1, 1, 1)
        block = (told["num_warps"] * WARP, 1, 1)
        found[workload.workload] = BoundLaunch(line.kernel, grid, block, told["shared"], (1, 1, 1), None)
    return found


def _told(path: Path) -> dict[str, int]:
    """What Triton chose: ``shared`` bytes and ``num_warps``."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        chosen = {name: int(told[name]) for name in ("shared", "num_warps")}
    except (ValueError, KeyError, TypeError):
        raise CubinError(f"{path.name} is not what the compiling child writes") from None
    if not (0 <= chosen["shared"] < 2**31 and 1 <= chosen["num_warps"] <= 64):
        raise CubinError(f"{path.name}: {chosen} is beyond what a GPU has")
    return chosen


def _trimmed(output: str, folder: str) -> str:
    output = output.replace(f"{folder}/", "").replace(folder, ".")
    at = output.rfind("kernelwright-error: ")
    text = output[at + 20 :] if at >= 0 else output.strip()[-1000:]
    return text.strip()[:1400] or "Triton did not compile it and said nothing"
