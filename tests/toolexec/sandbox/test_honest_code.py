"""What has to work confined: compilers, libraries, JIT, threads, workers that enter by themselves."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelwright.toolexec.sandbox import places
from kernelwright.toolexec.sandbox.confinement import Launch, Limits, confine, run_confined
from kernelwright.toolexec.sandbox.tiers import Tier, available

WORKING = {tier.name: tier for tier in available()}
CXX = shutil.which("g++")
ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "OMP_NUM_THREADS": "2", "HL_NUM_THREADS": "2"}
needs_compiler = pytest.mark.skipif(CXX is None, reason="needs g++")


@pytest.fixture(params=["bubblewrap", "landlock", "rlimits"])
def tier(request: pytest.FixtureRequest) -> Tier:
    """Each tier that works here."""
    if request.param not in WORKING:
        pytest.skip(f"the tier {request.param} does not work here: {WORKING['rlimits'].better}")
    return WORKING[request.param]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with ``scratch`` and ``given``."""
    root = Path(tempfile.mkdtemp(prefix="kernelwright-sandbox-", dir="/tmp"))
    (root / "scratch").mkdir()
    (root / "given").mkdir()
    yield root
    shutil.rmtree(root, ignore_errors=True)


def compile_in(folder: Path, tier: Tier, source: str) -> Any:
    (folder / "given" / "kernel.cpp").write_text(source)
    flags = ["-O2", "-fopenmp", "-shared", "-fPIC", "-o", "kernel.so"]
    return run_confined(
        [CXX or "", *flags, str(folder / "given" / "kernel.cpp")],
        scratch=folder / "scratch",
        readable=[folder / "given"],
        env=ENVIRONMENT,
        limits=Limits(file_size=256 << 20),
        timeout_s=60,
        tier=tier,
    )


@needs_compiler
def test_a_compiler_builds_and_its_library_loads_confined(tier: Tier, folder: Path) -> None:
    source = (
        "#include <cmath>\n#include <vector>\n#include <omp.h>\n"
        'extern "C" int threads() { int n = 0;\n#pragma omp parallel reduction(+ : n)\n n += 1;\n return n; }'
    )
    built = compile_in(folder, tier, source)
    assert (built.exit_code, built.clean) == (0, True), built.output
    shutil.copy(folder / "scratch" / "kernel.so", folder / "given" / "kernel.so")
    code = f"import ctypes; print(ctypes.CDLL('{folder}/given/kernel.so').threads())"
    ran = run_confined(
        [sys.executable, "-I", "-S", "-c", code],
        scratch=folder / "scratch",
        readable=[folder / "given"],
        env=ENVIRONMENT,
        timeout_s=30,
        tier=tier,
    )
    assert ran.output.strip() == "2", ran


@needs_compiler
@pytest.mark.parametrize("steal", ['#include "{}"', 'asm(".incbin \\"{}\\"");'], ids=["include", "incbin"])
def test_a_source_cannot_read_files_through_the_compiler(tier: Tier, folder: Path, steal: str) -> None:
    if tier.name == "rlimits":
        pytest.skip("the tier rlimits does not hold files")
    (folder / "answers").write_text("int the_expected_answer;\n")
    for path in (folder / "answers", Path("/etc/passwd"), Path(__file__), Path(places.package_root(), "../README.md")):
        built = compile_in(folder, tier, steal.format(path))
        assert built.exit_code == 1, (path, built)
        assert "the_expected_answer" not in built.output and not (folder / "scratch" / "kernel.so").exists()


def test_the_package_can_be_imported_but_not_its_knowledge(tier: Tier, folder: Path) -> None:
    if tier.name == "rlimits":
        pytest.skip("the tier rlimits does not hold files")
    code = (
        "import sys, os; sys.path.insert(0, sys.argv[1]); import kernelwright.toolexec.sandbox.seccomp\n"
        "print([n for p in kernelwright.__path__ for d, _, files in os.walk(p + '/knowledge', followlinks=True) "
        "for n in files if open(os.path.join(d, n)).read(1)])"
    )
    ran = run_confined(
        [sys.executable, "-I", "-B", "-c", code, places.package_root()],
        scratch=folder / "scratch",
        env=ENVIRONMENT,
        timeout_s=30,
        tier=tier,
    )
    assert ran.exit_code == 0 or "PermissionError" in ran.output, ran
    assert ran.exit_code != 0 or ran.output.strip() == "[]", ran


WORKER = """
import sys; sys.path.insert(0, sys.argv[1])
from kernelwright.toolexec.sandbox.enter import enter
tier = enter()
import os, socket
channel = socket.socket(fileno=int(sys.argv[2]))
channel.sendall(f"{tier} {'KERNELWRIGHT_SANDBOX' in os.environ}\\n".encode())
while line := channel.recv(100):
    if line == b"open\\n":
        try: open(sys.argv[3]).close(); channel.sendall(b"read\\n")
        except OSError as error: channel.sendall(f"{type(error).__name__}\\n".encode())
"""


def start_worker(folder: Path, tier: Tier, theirs: int) -> tuple[Launch, subprocess.Popen[bytes]]:
    command = [sys.executable, "-I", "-B", "-c", WORKER, places.package_root(), str(theirs), str(folder / "answers")]
    launch = confine(command, scratch=folder / "scratch", pass_fds=(theirs,), env=ENVIRONMENT, enters=True, tier=tier)
    try:
        process = subprocess.Popen(
            launch.argv, env=launch.env, pass_fds=launch.pass_fds, cwd=folder / "scratch", start_new_session=True
        )
    finally:
        launch.started()
    return launch, process


def test_a_worker_enters_by_itself_and_can_be_pinned_and_ended(tier: Tier, folder: Path) -> None:
    (folder / "answers").write_text("expected")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        launch, process = start_worker(folder, tier, theirs.fileno())
        theirs.close()
        try:
            ours.settimeout(20)
            assert ours.recv(100).decode().split() == [tier.name, "False"]
            pid = launch.worker_pid(process.pid)
            assert pid is not None and pid != process.pid
            assert b"enter()" in Path(f"/proc/{pid}/cmdline").read_bytes()
            os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})
            assert len(os.sched_getaffinity(pid)) == 1
            ours.sendall(b"open\n")
            told = ours.recv(100).decode().strip()
            assert told in {"rlimits": ("read", "PermissionError")}.get(
                tier.name, ("FileNotFoundError", "PermissionError")
            )
            if tier.name == "bubblewrap":
                assert told == "FileNotFoundError"
        finally:
            assert launch.end(process)
        assert ours.recv(100) == b"", "nobody holds the other end"
        assert launch.end(process), "ending twice is fine"


def test_a_worker_ends_when_the_judge_hangs_up(tier: Tier, folder: Path) -> None:
    ours, theirs = socket.socketpair()
    launch, process = start_worker(folder, tier, theirs.fileno())
    theirs.close()
    try:
        ours.settimeout(20)
        assert ours.recv(100)
        ours.close()
        assert launch.exit_code(process.wait(10)) == 0
    finally:
        launch.end(process)


def test_two_launches_share_no_user(folder: Path) -> None:
    tier = next(iter(WORKING.values()))
    launches = [confine(["true"], scratch=folder / "scratch", env={}, tier=tier) for _ in range(20)]
    drawn = [launch.user.uid for launch in launches if launch.user]
    assert len(set(drawn)) == len(drawn) == (20 if tier.own_user else 0)
    for launch in launches:
        launch.started()


TORCH = """
import torch, threading
torch.set_num_threads(2)
x = torch.randn(256, 256)
print(torch.allclose((x @ x).relu().double(), (x.double() @ x.double()).relu(), atol=1e-3))
"""
HALIDE = """
import halide as hl, numpy as np
x, y = hl.Var("x"), hl.Var("y")
image = hl.Buffer(np.arange(4096, dtype=np.float32).reshape(64, 64))
f = hl.Func("f")
f[x, y] = image[x, y] * hl.f32(2)
f.vectorize(x, 8).parallel(y)
print(np.array_equal(np.asarray(f.realize([64, 64])), np.arange(4096).reshape(64, 64) * 2))
"""


@pytest.mark.slow
@pytest.mark.parametrize("code", [TORCH, HALIDE], ids=["torch", "halide"])
def test_torch_and_halide_run_confined(tier: Tier, folder: Path, code: str) -> None:
    ran = run_confined(
        [sys.executable, "-P", "-s", "-B", "-c", code],
        scratch=folder / "scratch",
        env=ENVIRONMENT,
        limits=Limits(address_space=16 << 30),
        timeout_s=120,
        tier=tier,
    )
    assert ran.output.strip() == "True", ran
    assert ran.exit_code == 0


@pytest.mark.slow
@needs_compiler
def test_torch_compile_runs_confined(folder: Path) -> None:
    if "landlock" not in WORKING:
        pytest.skip(f"the tier landlock does not work here: {WORKING['rlimits'].better}")
    code = (
        "import torch; f = torch.compile(lambda x: torch.softmax(x * 2, -1)); x = torch.randn(64, 64)\n"
        "print(torch.allclose(f(x), torch.softmax(x * 2, -1), atol=1e-6))"
    )
    ran = run_confined(
        [sys.executable, "-P", "-s", "-B", "-c", code],
        scratch=folder / "scratch",
        env={**ENVIRONMENT, "TORCHINDUCTOR_COMPILE_THREADS": "1"},
        limits=Limits(file_size=1 << 30),
        timeout_s=300,
        tier=WORKING["landlock"],
    )
    assert ran.output.strip().endswith("True"), ran
