"""From a CUDA source to a shared library that a worker loads as any ``c`` entry.

Owns flags, the runtime's cached objects and the library's cache. Compilers run confined (languages/compiling.py);
nothing is loaded here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.protocols import BuildResult
from kernelwright.records import content_hash
from kernelwright.toolexec.emulator import cute_headers
from kernelwright.toolexec.emulator.aligned_uses import with_asked_alignment
from kernelwright.toolexec.emulator.host_compiler import MISSING, HostCompiler, host_compiler
from kernelwright.toolexec.emulator.ptx import UnknownInstruction
from kernelwright.toolexec.emulator.translate import Untranslatable, foreign, thunks, translate
from kernelwright.toolexec.languages.compiling import compiler_version, run_compiler, toolchain_places
from kernelwright.toolexec.owned_folder import OwnedFolder

HERE = Path(__file__).parent
HEADER = HERE.parent / "languages" / "kernelwright.h"
_CARRIED = re.compile(r"-D[A-Za-z_]\w*(=[A-Za-z0-9_.+\-]*)?|-?-std=c\+\+\d\d")


@dataclass(frozen=True)
class Source:
    """What is emulated."""

    files: Mapping[str, str]
    """Name in a flat folder -> text."""
    entry_file: str
    flags: tuple[str, ...] = ()
    """As for nvcc; those that mean nothing to a processor are left out."""
    kernels: tuple[str, ...] = ()
    """Launched as data, by name; () where the file has host code."""
    told: Mapping[str, object] | None = None
    """Carried inside the library for the worker: the launch lines and tunables."""


def build_library(
    source: Source, *, folder: Path, timeout_s: float, checked: bool = True, compiler: HostCompiler | None = None
) -> BuildResult:
    """Compile a source into ``folder``, cached by content.

    Args:
        source: what is compiled.
        folder: the cache of builds; exists.
        timeout_s: wall time for everything.
        checked: with all checkers, or only run it.
        compiler: None means the machine's first.
    """
    start = time.monotonic()
    compiler = compiler or host_compiler()
    if compiler is None:
        return BuildResult(False, None, MISSING, 0.0)
    deadline = start + timeout_s
    key = _key(compiler, checked, [dict(source.files), source.entry_file, source.flags, source.kernels, source.told])
    artifact = folder / f"emulated-{key}" / "kernel.so"
    if artifact.exists():
        return BuildResult(True, artifact, "", time.monotonic() - start, cached=True)
    objects, problem = _runtime(compiler, checked, folder, timeout_s)
    if not objects:
        return BuildResult(False, None, problem, time.monotonic() - start)
    own = OwnedFolder(folder, ".emulated-")
    try:
        work = own.path / "build"
        work.mkdir()
        _write(source, work, asked=checked and compiler.family == "clang")
        more = cute_headers.flags(folder) if cute_headers.wanted(source.files) else cute_headers.NONE
        if isinstance(more, str):
            return BuildResult(False, None, more, time.monotonic() - start)
        flags = [*compiler.flags(checked=checked, templates=bool(more.flags)), *_carried(source.flags), *more.flags]
        names = ["-Dkw_run=kwemu_kw_run", "-Dkw_prepare=kwemu_kw_prepare"]
        places = toolchain_places(compiler.path)
        seen = [f"-I{HERE / 'include'}", "-I.", "-include", "kwemu/prelude.h"]
        command = [compiler.path, *flags, *names, *seen]
        done = run_compiler(
            [*command, "-x", "c++", "-c", source.entry_file, "-o", "kernel.o"],
            folder=work,
            timeout_s=timeout_s,
            readable=[*more.readable, *places],
        )
        if done.ok:
            for each in objects:
                shutil.copyfile(each, work / each.name)
            link = [compiler.path, "-shared", "-Wl,-z,defs", "kernel.o", *(o.name for o in objects), "-o", "kernel.so"]
            done = run_compiler(link, folder=work, timeout_s=max(deadline - time.monotonic(), 1.0), readable=places)
        if not done.ok:
            return BuildResult(False, None, done.log.replace(str(HERE), "emulator"), time.monotonic() - start)
        artifact.parent.mkdir(exist_ok=True)
        os.replace(work / "kernel.so", artifact)
        return BuildResult(True, artifact, "", time.monotonic() - start)
    except (Untranslatable, UnknownInstruction) as error:
        return BuildResult(False, None, str(error), time.monotonic() - start)
    finally:
        own.close()


def cannot_run(files: Mapping[str, str]) -> str:
    """What of a source the emulator has nothing for, with file and line; "" when it can try."""
    for name, text in files.items():
        if found := foreign(text):
            return f"{name}: the emulator cannot run {found}"
        try:
            translate(text, name)
        except UnknownInstruction as error:
            return f"the emulator cannot run {error}"
        except Untranslatable:
            continue  # the build says so
    return ""


def lacking_header(log: str, files: Mapping[str, str]) -> str:
    """A header or a form of CUDA's that a failed build asked for and the emulator lacks; "" for any other failure."""
    if said := re.search(r"static assertion failed.*?: \"?(the emulator has [^\"\n]+)", log):
        return said[1].strip()
    found = re.search(r"([^\s:]+:\d+):\d+: fatal error: (?:(\S+): No such file|'([^'\n]+)' file not found)", log)
    if found is None or not any(f"<{found[2] or found[3]}>" in text for text in files.values()):
        return ""
    return f"the emulator has no header <{found[2] or found[3]}> ({found[1]})"


def _carried(flags: Sequence[str]) -> list[str]:
    return [f for f in flags if _CARRIED.fullmatch(f)]


def _key(compiler: HostCompiler, checked: bool, what: Sequence[object]) -> str:
    own = [p.read_text(encoding="utf-8") for p in _own_files()]
    return content_hash([*what, checked, *compiler.identity(), own], length=24)


def _own_files() -> list[Path]:
    found = [
        p for part in ("include", "runtime") for p in (HERE / part).rglob("*") if p.is_file() and p.suffix != ".md"
    ]
    return sorted([*found, HEADER, *HERE.glob("*.py")])


def _write(source: Source, work: Path, *, asked: bool) -> None:
    for name, text in source.files.items():
        new = translate(with_asked_alignment(text) if asked else text, name)
        if name == source.entry_file:
            told = json.dumps(json.dumps(source.told)) if source.told is not None else '""'
            new += thunks(source.kernels) + f"KWEMU_ENTRY const char kw_emulated[] = {told};\n"
        (work / name).write_text(new, encoding="utf-8")
    shutil.copyfile(HEADER, work / HEADER.name)


def _runtime(compiler: HostCompiler, checked: bool, folder: Path, timeout_s: float) -> tuple[list[Path], str]:
    """The runtime's objects, compiled when there are none; [] and the compiler's words where that fails."""
    parts = [*(HERE / "runtime").glob("*.?pp"), HERE / "include" / "kwemu" / "machine.h", HEADER]
    texts = [p.read_text(encoding="utf-8") for p in sorted(parts)]
    said = [compiler.runtime_flags(checked=checked), compiler_version(compiler.path)]
    key = content_hash([texts, checked, *said], length=24)
    place = folder / f"emulator-runtime-{key}"
    if not place.exists():
        own = OwnedFolder(folder, ".emulator-")
        try:
            work = own.path / "runtime"
            work.mkdir()
            command = [compiler.path, *compiler.runtime_flags(checked=checked), "-c", str(HERE / "runtime/runtime.cpp")]
            places = toolchain_places(compiler.path)
            done = run_compiler(command, folder=work, timeout_s=timeout_s, readable=places)
            if not done.ok:
                return [], done.log
            if not place.exists():
                os.rename(work, place)
        except OSError:  # another process was quicker
            if not place.exists():
                raise
        finally:
            own.close()
    return [place / "runtime.o"], ""
