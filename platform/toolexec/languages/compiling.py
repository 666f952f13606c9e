"""Finding and running a C++ compiler: bounded in time and memory, its errors cut to what can be used.

Owns the child processes of builds. It compiles what it is given and loads nothing.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MEMORY_KIB = 8 << 20
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


def run_compiler(command: Sequence[str], *, folder: Path, timeout_s: float) -> Compiled:
    """Run a compiler in ``folder``; it and its children are killed when time is up."""
    bounded = ["/bin/sh", "-c", f'ulimit -v {MEMORY_KIB}; exec "$@"', "sh", *command]
    environment = {k: os.environ[k] for k in ("PATH", "LD_LIBRARY_PATH") if k in os.environ}
    environment |= {"LANG": "C", "LC_ALL": "C", "TMPDIR": str(folder), "HOME": str(folder)}
    process = subprocess.Popen(
        bounded,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Compiled(False, f"the compiler needed more than {timeout_s:.0f} s and was stopped")
    return Compiled(process.returncode == 0, trimmed(output.decode("utf-8", "replace"), folder))


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
