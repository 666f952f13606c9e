"""Not a test: a rung of a GPU solution as an object file and as SASS; skips where a tool is missing."""

import subprocess
from pathlib import Path

import pytest
import yaml

from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.languages.toolchain import Tool

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "knowledge/solutions"
HEADER_FOLDER = ROOT / "platform/toolexec/languages"
CUTE = ("-std=c++17", "-O3", "-arch=sm_80", "--expt-relaxed-constexpr")
KITTENS = (
    "-std=c++20", "-O3", "--use_fast_math", "--expt-extended-lambda", "--expt-relaxed-constexpr", "-DNDEBUG",
    "-Xcompiler=-Wno-psabi,-fno-strict-aliasing", "-DKITTENS_HOPPER", "-gencode", "arch=compute_90a,code=sm_90a",
)  # fmt: skip
"""Not -arch=sm_90a: beside host code nvcc 13.0 then makes PTX for compute_90 too, which has no wgmma."""


def need(name: str) -> Tool:
    """A tool of the toolchain, or the test is skipped with the command that brings it."""
    found: Tool | None = getattr(toolchain, name)()
    if found is None:
        wheels = toolchain.pip_command("nvcc" if name == "headers" else name)
        pytest.skip(f"no {name}: {wheels}")
    return found


def thunderkittens() -> Path:
    """The user's checkout; it is never in the repository."""
    found = toolchain.thunderkittens()
    if found is None:
        pytest.skip("TK_ROOT names no checkout: git clone https://github.com/HazyResearch/ThunderKittens")
    return found.path


def ladder(solution: str) -> list[dict]:
    return yaml.safe_load((SOLUTIONS / solution / "decisions.yaml").read_text(encoding="utf-8"))["rungs"]


def compile_rung(solution: str, source: str, folder: Path, *, host: bool) -> str:
    """One rung with the flags of its first lines; its cubin stays in ``folder``.

    Args:
        solution: the folder's name.
        source: the rung's entry file.
        folder: where to, empty.
        host: compile its host code as well, which takes twice as long.

    Returns:
        What ptxas says.

    Raises:
        AssertionError: it does not compile.
    """
    if solution.startswith("tk-"):
        root = thunderkittens()
        flags = [*KITTENS, f"-I{root}/include", f"-I{root}/prototype"]
    else:
        flags = [*CUTE, f"-I{need('cutlass').path}"]
    whole = ["-c", "--keep", "--keep-dir", str(folder), "-o", str(folder / "rung.o")]
    shape = whole if host else ["-cubin", "-o", str(folder / "rung.cubin")]
    command = [str(need("nvcc").path), *flags, f"-I{HEADER_FOLDER}", "-Xptxas=-v", *shape]
    command.append(str(SOLUTIONS / solution / source))
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return done.stderr


def sass(folder: Path) -> str:
    """The instructions of the cubin that ``compile_rung`` left."""
    (cubin,) = folder.glob("*.cubin")
    command = [str(need("nvdisasm").path), "-c", str(cubin)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
