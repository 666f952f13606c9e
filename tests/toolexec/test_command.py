"""``python -m kernelwright.toolexec``: what a machine that only judges needs, and nothing else."""

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from fakes import gpu_kernels as gpu
from fakes.gpu_kernels import needs_nvrtc
from fakes.kernels import REFERENCE, RIGHT_CPP, small_task
from toolexec.conftest import needs_compiler

ALLOWED = ("pydantic", "numpy", "torch", "triton", "cupy")
CODE = """
import json, sys
from importlib.machinery import PathFinder
allowed = set(json.loads(sys.argv[1]))
class Border:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        found = None if top in allowed else PathFinder.find_spec(name, path)
        if found is not None and "site-packages" in str(found.origin):
            raise ImportError(f"{name} is not on a machine that only judges")
sys.meta_path.insert(0, Border())
from kernelwright.toolexec.__main__ import main
sys.exit(main(sys.argv[2:]))
"""


def brought_by(names: tuple[str, ...]) -> set[str]:
    """Import names of these distributions and of all that they require."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        try:
            listed = [r for r in requires(name) or [] if "extra ==" not in r]
        except PackageNotFoundError:
            continue
        left += [re.match(r"[A-Za-z0-9_.\-]+", r)[0].lower().replace("-", "_") for r in listed]
    return found


def judge(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command where every other import fails."""
    allowed = json.dumps(sorted({"kernelwright", "_distutils_hack", *brought_by(ALLOWED)}))
    command = [sys.executable, "-c", CODE, allowed, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_nothing_of_the_agents_or_the_library_is_let_through():
    assert {"pydantic_core", "filelock"} <= brought_by(ALLOWED)
    assert not {"yaml", "pyyaml", "chromadb", "langgraph", "optuna", "halide", "typer"} & brought_by(ALLOWED)


@pytest.mark.slow
@needs_nvrtc
def test_kernels_are_compiled_with_nothing_else_installed(tmp_path: Path):
    (tmp_path / "task.py").write_text(REFERENCE)
    (tmp_path / "right.cu").write_text(gpu.SCALE)
    (tmp_path / "wrong.cu").write_text(gpu.SYNTAX)
    files = [tmp_path / name for name in ("task.py", "right.cu", "wrong.cu")]
    done = judge(*files, "--device", "none", "--arch", "sm_90a")
    assert done.returncode == 1, done.stderr
    right, wrong = map(json.loads, done.stdout.splitlines())
    assert (right["status"], right["level"], right["kernels"][0]["architecture"]) == ("UNJUDGED", "compiled", "sm_90a")
    assert wrong["status"] == "COMPILE_ERROR"


@pytest.mark.slow
@needs_compiler
def test_a_record_and_a_candidate_are_judged_on_the_cpu(tmp_path: Path):
    small_task().save(tmp_path / "task.json")
    RIGHT_CPP.save(tmp_path / "candidate.json")
    done = judge(tmp_path / "task.json", tmp_path, "--depth", "screen")
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert (verdict["status"], verdict["level"]) == ("PASSED", "measured")


def test_it_starts_there_and_a_users_mistake_is_one_line(tmp_path: Path):
    done = judge(tmp_path / "none.py", tmp_path / "none.cu", "--device", "none")
    assert done.returncode == 2 and done.stderr.startswith("error: ") and "Traceback" not in done.stderr
