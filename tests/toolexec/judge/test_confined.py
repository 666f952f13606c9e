"""What a stranger's code sees from inside a worker, in every tier that works here; nothing outlives a judge."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toolexec.conftest import needs_compiler

import kernelwright
from kernelwright.toolexec.judge.pool import FOLDERS, WorkerPool
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.languages.compiling import cxx_compiler, run_compiler
from kernelwright.toolexec.sandbox import confinement
from kernelwright.toolexec.sandbox.places import hidden
from kernelwright.toolexec.sandbox.tiers import Tier, available
from kernelwright.toolexec.workers.kernel import LoadSpec

TIERS = {tier.name: tier for tier in available()}
HOLD_FILES = ("bubblewrap", "landlock")
PROBE = r"""
import json, os, socket
import torch

seen = {"uid": os.getuid(), "cores": sorted(os.sched_getaffinity(0)), "capabilities": "", "read": [], "wrote": []}
for line in open("/proc/self/status"):
    if line.startswith(("CapEff", "NoNewPrivs", "Seccomp:")):
        seen[line.split(":")[0]] = line.split()[1]

def tried(what):
    try:
        return f"did: {what()}"
    except Exception as error:
        return type(error).__name__

def reads(path):
    return open(path).read(1) if os.path.isfile(path) else os.listdir(path)[0]

def writes(path):
    name = os.path.join(path, "kw_confined_probe") if os.path.isdir(path) else path
    with open(name, "a") as stream:
        return stream.write("x")

told = json.load(open(os.path.join(os.path.dirname(__file__), "told.json")))
seen["read"] = [p for p in told["read"] if tried(lambda: reads(p)).startswith("did")]
places = [*told["write"], __file__, os.path.dirname(__file__)]
seen["wrote"] = [p for p in places if tried(lambda: writes(p)).startswith("did")]
seen["scratch"] = tried(lambda: writes(os.getcwd()))
seen["socket"] = tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
seen["affinity"] = tried(lambda: os.sched_setaffinity(0, range(64)))
seen["nice"] = tried(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))
seen["judge"] = tried(lambda: os.kill(told["judge"], 0))
seen["judge memory"] = tried(lambda: open(f"/proc/{told['judge']}/mem", "rb").read(1))
torch.set_num_threads(1)
seen["sum"] = float((torch.ones(64, 64) @ torch.ones(64, 64)).sum())
raise RuntimeError(json.dumps(seen))
"""


@pytest.fixture(params=["bubblewrap", "landlock", "rlimits"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Tier:
    """Each tier as the only one."""
    if request.param not in TIERS:
        pytest.skip(f"{request.param} does not work here: {TIERS['rlimits'].better}")
    monkeypatch.setattr(confinement, "probe", lambda: TIERS[request.param])
    return TIERS[request.param]


@pytest.fixture
def pool(tier: Tier):
    made = WorkerPool(threads=1, memory_limit_gib=4)
    yield made
    made.close()


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


def observed(pool: WorkerPool, role: str, folder: Path, told: dict) -> dict:
    """Load the probe as a candidate is loaded."""
    folder.mkdir()
    (folder / "probe.py").write_text(PROBE)
    (folder / "told.json").write_text(json.dumps(told))
    worker = pool.take(role)
    cores = sorted(os.sched_getaffinity(0))[-1:]
    worker.pin(cores)
    given = worker.bring(folder) / "probe.py"
    spec = LoadSpec("module", "torch", str(given), (), (), ())
    with pytest.raises(WorkerFailure) as caught:
        worker.call("load", 60.0, key="k", spec=spec.to_json())
    seen = json.loads(caught.value.message.partition("RuntimeError: ")[2])
    assert seen["cores"] == cores
    return seen


def test_a_candidate_sees_its_own_and_nothing_else(pool: WorkerPool, tier: Tier, tmp_path: Path) -> None:
    secret, cache = tmp_path / "secret", tmp_path / "cache"
    secret.write_text("the expected answer")
    cache.mkdir()
    (cache / "other.so").write_text("another's")
    package = next(iter(kernelwright.__path__))
    other = pool.take("kernel")
    (pool.root / "reference").write_text("expected")
    of_the_judge = [pool.root / "reference", other.folder, other.folder / "given", other.folder / "log"]
    read = [secret, cache, *of_the_judge, *hidden(), Path(package).parent / "knowledge", Path("/etc/passwd")]
    write = [cache, tmp_path, package, Path(os.__file__).parent, "/usr", "/tmp"]
    told = {"read": [str(p) for p in read], "write": [str(p) for p in write], "judge": os.getpid()}
    seen = observed(pool, "torch", tmp_path / "candidate", told)
    if tier.name in HOLD_FILES:
        assert seen["read"] == []
        assert seen["wrote"] == []
        assert seen["judge"] == ("ProcessLookupError" if tier.own_processes else "PermissionError")
        assert not seen["judge memory"].startswith("did")
    assert seen["scratch"] == "did: 1"
    if tier.seccomp:
        assert seen["Seccomp"] == "2" and seen["NoNewPrivs"] == "1"
        assert seen["socket"] == seen["affinity"] == seen["nice"] == "PermissionError"
    if tier.own_user:
        assert seen["uid"] != os.getuid()
    assert seen["sum"] == 64.0**3, "torch works with one thread"
    assert not list(tmp_path.rglob("kw_confined_probe"))


def test_the_tasks_own_code_is_confined_alike(pool: WorkerPool, tier: Tier, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    kept = tmp_path / "kept"
    worker = pool.start_trusted("torch", kept_inductor=kept)
    folder = tmp_path / "baseline"
    folder.mkdir()
    makes = "open(os.environ['TORCHINDUCTOR_CACHE_DIR'] + '/new', 'w').close()\n"
    (folder / "probe.py").write_text(PROBE.replace("raise RuntimeError", makes + "raise RuntimeError"))
    told = {"read": [str(secret)], "write": [str(tmp_path)], "judge": os.getpid()}
    (folder / "told.json").write_text(json.dumps(told))
    spec = LoadSpec("module", "torch", str(worker.bring(folder) / "probe.py"), (), (), (), options={"mode": "eager"})
    with pytest.raises(WorkerFailure) as caught:
        worker.call("load", 60.0, key="k", spec=spec.to_json())
    seen = json.loads(caught.value.message.partition("RuntimeError: ")[2])
    if tier.name in HOLD_FILES:
        assert seen["read"] == seen["wrote"] == []
    pool.release(worker)
    assert [p.name for p in kept.iterdir()] == ["new"], "what torch.compile would have made is kept"


JUDGE = """
import sys, time
from pathlib import Path
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.sandbox import confinement
from kernelwright.toolexec.sandbox.tiers import available
from kernelwright.toolexec.workers.kernel import LoadSpec

tier = next(t for t in available() if t.name == sys.argv[1])
confinement.probe = lambda: tier
pool = WorkerPool(threads=1, memory_limit_gib=4)
pool.refill("kernel")
worker = pool.take("torch")
spec = LoadSpec("module", "torch", str(worker.bring(Path(sys.argv[2]))), (), (), ())
try:
    worker.call("load", 60.0, key="k", spec=spec.to_json())
except WorkerFailure as failure:
    print(failure.message, pool.root, flush=True)
time.sleep(60)
"""
LEAVES = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; time.sleep(300)  # MARK"], {})
    os._exit(0)
time.sleep(0.5)
raise RuntimeError("left")
"""


def carrying(mark: str) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and mark.encode() in Path("/proc", name, "cmdline").read_bytes():
                found.append(int(name))
    return found


def below(pid: int) -> set[int]:
    from kernelwright.toolexec.sandbox.processes import descendants

    return set(descendants(pid))


def test_a_killed_judge_leaves_no_process_and_its_folder_goes_with_the_next(tier: Tier, tmp_path: Path) -> None:
    mark = f"mark{secrets.token_hex(8)}"
    (tmp_path / "leaves.py").write_text(LEAVES.replace("MARK", mark))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    tmp_path.chmod(0o755)
    judge = subprocess.Popen(
        [sys.executable, "-c", JUDGE, tier.name, str(tmp_path / "leaves.py")],
        stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert judge.stdout is not None
    message, _, root = judge.stdout.readline().strip().rpartition(" ")
    assert message == "RuntimeError: left"
    started = below(judge.pid)
    assert started and carrying(mark), "the daemon is there"
    os.kill(judge.pid, signal.SIGKILL)
    judge.wait()
    deadline = time.monotonic() + 2.0 + 3.0  # a busy machine's grace
    while (left := [p for p in started if alive(p)] + carrying(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left
    assert Path(root).name.startswith(FOLDERS) and Path(root).exists()
    script = "from kernelwright.toolexec.judge import pool\npool.WorkerPool(threads=1, memory_limit_gib=1).close()"
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    assert not list(tmp_path.glob(FOLDERS + "*"))


BOMBS = {
    "reads a file of the machine": '#include "/etc/passwd"\n',
    "reads an endless device": '#include "/dev/zero"\n',
    "includes itself": '#include "bomb.cpp"\n#include "bomb.cpp"\n',
    "endless recursion": "template <int N> struct A { static constexpr int v = A<N + 1>::v; };\nint x = A<0>::v;\n",
    "ackermann": (
        "template <int A, int B> struct K { static constexpr long v = K<A - 1, B>::v + K<A, B - 1>::v; };\n"
        "template <int B> struct K<0, B> { static constexpr long v = K<B % 7 + 600, B - 1>::v; };\n"
        "template <int A> struct K<A, 0> { static constexpr long v = A; };\nint x = (int)K<700, 700>::v;\n"
    ),
    "embeds a file of the machine": 'asm(".incbin \\"/etc/passwd\\"");\n',
}


@needs_compiler
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_compiler_is_confined_and_ends(bomb: str, tier: Tier, tmp_path: Path) -> None:
    if tier.name not in HOLD_FILES and "of the machine" in bomb:
        pytest.skip("this tier does not hold files")
    folder = tmp_path / "build"
    folder.mkdir()
    tmp_path.chmod(0o755)
    (folder / "bomb.cpp").write_text(BOMBS[bomb])
    compiler = cxx_compiler()
    assert compiler is not None
    before = below(os.getpid())
    start = time.monotonic()
    done = run_compiler([compiler, "-shared", "-fPIC", "bomb.cpp", "-o", "kernel.so"], folder=folder, timeout_s=4.0)
    assert time.monotonic() - start < 4.0 + 2.0 + 5.0
    assert not done.ok and done.log
    assert "root:" not in done.log and len(done.log) < 3000
    assert not [p for p in below(os.getpid()) - before if alive(p)]
    assert not (folder / "kernel.so").exists()


@needs_compiler
def test_a_compiler_still_compiles(tier: Tier, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "fine.cpp").write_text("#include <vector>\nint f() { return (int)std::vector<int>{1, 2}.size(); }\n")
    compiler = cxx_compiler()
    assert compiler is not None
    command = [compiler, "-O1", "-shared", "-fPIC", "fine.cpp", "-o", "fine.so"]
    done = run_compiler(command, folder=tmp_path, timeout_s=60.0)
    assert done.ok, done.log
    assert (tmp_path / "fine.so").stat().st_uid == os.geteuid()
