"""Finding and running a C++ compiler: confined like what it compiles, its errors cut to what can be used.

Owns the child processes of builds. A compiler reads a stranger's text, which may name any file and never end: it sees
its own folder and the system's headers, has no network, and ends with all it started when its time is up.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.toolexec.sandbox.confinement import Limits, run_confined

LIMITS = Limits(address_space=8 << 30, file_size=512 << 20, processes=64)
LOG_LENGTH = 1500
INSTALL_HINT = "install one, e.g. `apt install g++` (Debian, Ubuntu) or `dnf install gcc-c++` (Fedora)"


@dataclass(frozen=True)
class Compiled:
    """How a compiler run ended."""

    ok: bool
    log: str


def cxx_compiler() -> str | None:
    """Path of the C++ compiler: $CXX, g++ or clang++; None when there is none."""
    for name in (os.environ.get("CXX", ""), "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None


@functools.lru_cache(maxsize=8)
def compiler_version(path: str) -> str:
    """First line of ``--version``; "" when it does not answer."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
        return done.stdout.partition("\n")[0].strip()
    return ""


@functools.lru_cache(maxsize=1)
def machine_flags() -> str:
    """What -march=native depends on: the processor's model and feature flags."""
    wanted: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "flags", "Features", "CPU part"):
                wanted.setdefault(name.strip(), value.strip())
    return "|".join(f"{k}={v}" for k, v in sorted(wanted.items()))


@functools.lru_cache(maxsize=8)
def openmp_flags(path: str) -> tuple[str, ...]:
    """``-fopenmp`` where the compiler has it (clang++ often lacks its runtime)."""
    try:
        done = subprocess.run(
            [path, "-fopenmp", "-shared", "-fPIC", "-x", "c++", "-", "-o", os.devnull],
            input="#include <omp.h>\nint f() { return omp_get_max_threads(); }\n",
            text=True,
            capture_output=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return ("-fopenmp",) if done.returncode == 0 else ()


@functools.lru_cache(maxsize=8)
def toolchain_places(compiler: str | None = None, library_path: str | None = None) -> tuple[Path, ...]:
    """Folders that a compiler from outside the system's own needs to read, and those of LD_LIBRARY_PATH.

    Args:
        compiler: its path; None means the one that is found.
        library_path: None means the variable's value.
    """
    compiler = compiler or cxx_compiler()
    library_path = os.environ.get("LD_LIBRARY_PATH", "") if library_path is None else library_path
    places = [Path(p) for p in library_path.split(":") if p.startswith("/") and p != "/"]
    for path in {Path(compiler), Path(os.path.realpath(compiler))} if compiler else set():
        prefix = path.parent.parent
        if path.parent.name == "bin" and prefix not in (Path("/"), Path("/usr")):
            # The parts that a compiler's prefix has, not the prefix: that may be somebody's home.
            places += [prefix / part for part in ("bin", "lib", "lib64", "libexec", "include", "share")]
            places += [p for p in prefix.glob("*-*-*") if (p / "bin").is_dir() or (p / "sysroot").is_dir()]
    return tuple(p for p in places if p.is_dir())


def run_compiler(
    command: Sequence[str], *, folder: Path, timeout_s: float, readable: Sequence[Path] = ()
) -> Compiled:
    """Run a compiler in ``folder``; it and its children are killed when time is up.

    Args:
        command: the compiler and its arguments.
        folder: the only one that it can write; its sources lie there.
        timeout_s: wall time.
        readable: more that it may read, beside the system and this package.

    Raises:
        OSError: it cannot be started.
    """
    environment = {k: os.environ[k] for k in ("PATH", "LD_LIBRARY_PATH") if k in os.environ}
    done = run_confined(
        command,
        scratch=folder,
        env=environment | {"LANG": "C", "LC_ALL": "C"},
        timeout_s=timeout_s,
        readable=[*toolchain_places(), *readable],
        limits=LIMITS,
    )
    if done.timed_out:
        return Compiled(False, f"the compiler needed more than {timeout_s:.0f} s and was stopped")
    log = trimmed(done.output, folder)
    return Compiled(done.exit_code == 0, log or f"the compiler ended with {done.exit_code}" * bool(done.exit_code))


def trimmed(text: str, folder: Path, length: int = LOG_LENGTH) -> str:
    """A compiler's output without paths of this machine, errors first, each line and the whole cut short."""
    text = text.replace(f"{folder}/", "").replace(str(folder), ".")
    lines = [line if len(line) <= 300 else line[:300] + " ..." for line in text.splitlines()]
    starts = [i for i, line in enumerate(lines) if re.search(r"\b(error|undefined reference)\b", line)]
    if starts:
        keep = sorted({j for i in starts for j in range(i, min(i + 3, len(lines)))})
        lines = [lines[j] for j in keep]
    kept = "\n".join(lines)
    return kept if len(kept) <= length else kept[: length - 4] + " ..."
