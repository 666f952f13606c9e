"""Language ``cpp``: C++ with the ``c`` entry of kernelwright.h, compiled to a shared library.

Owns flags, the build cache and the way home (a ModelNew file that compiles its embedded sources). No torch headers, so
a build takes well under a second. It loads nothing: libraries are opened in workers only.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

from kernelwright.protocols import Availability, BuildResult
from kernelwright.records import Candidate, Task, TaskFacts, content_hash
from kernelwright.toolexec.languages.compiling import (
    INSTALL_HINT,
    compiler_version,
    cxx_compiler,
    machine_flags,
    openmp_flags,
    run_compiler,
)
from kernelwright.toolexec.languages.cpp_export import export_text
from kernelwright.toolexec.owned_folder import OwnedFolder

HEADER = Path(__file__).parent / "kernelwright.h"
BASE_FLAGS = ("-std=c++17", "-shared", "-fPIC", "-fno-math-errno", "-fvisibility=hidden")
"""Always given; besides them -O3, -march=native (architecture ``native``) and -fopenmp where the compiler has it."""
ALLOWED_FLAGS = re.compile(
    r"-O[0-3]|-Ofast|-ffast-math|-fno-[a-z\-]+|-funroll-loops|-funsafe-math-optimizations|-fassociative-math"
    r"|-freciprocal-math|-ffinite-math-only|-fno-signed-zeros|-ffp-contract=[a-z]+|-fvect-cost-model=[a-z\-]+"
    r"|-mprefer-vector-width=\d+|-mtune=[a-z0-9\-]+|-mavx[a-z0-9]*|-mfma|-march=[a-z0-9\-]+|-std=(c|gnu)\+\+\d\d"
    r"|-ftree-[a-z\-]+|-fprefetch-loop-arrays|-falign-(loops|functions)=\d+|-flto|-fipa-pta|-fstrict-aliasing"
    r"|-fopenmp|-pthread|--param=[a-z0-9\-]+=\d+|-D[A-Za-z_][A-Za-z0-9_]*(=[A-Za-z0-9_.+\-]*)?|-W[a-z\-]+"
)
"""What a candidate may add; nothing that names a file or a library."""


def declarations() -> str:
    """What kernelwright.h declares: types, constants and functions, without the guards of the header."""
    text = HEADER.read_text(encoding="utf-8")
    return text[text.index("enum {") : text.rindex("#endif")].strip()


class CppLanguage:
    """C++ candidates. Stateless."""

    name = "cpp"
    entry = "c"

    def availability(self) -> Availability:
        """Is there a compiler?"""
        path = cxx_compiler()
        if path is None:
            return Availability(False, f"no C++ compiler (g++ or clang++): {INSTALL_HINT}")
        return Availability(True, f"{compiler_version(path)} ({path})")

    def build(
        self, candidate: Candidate, facts: TaskFacts, *, workload: str, folder: Path, timeout_s: float
    ) -> BuildResult:
        """Compile to a shared library; one library serves all workloads."""
        start = time.monotonic()
        compiler = cxx_compiler()
        if compiler is None:
            return BuildResult(False, None, f"no C++ compiler (g++ or clang++): {INSTALL_HINT}", 0.0)
        bad = [f for f in candidate.flags if not ALLOWED_FLAGS.fullmatch(f)]
        if bad:
            return BuildResult(False, None, f"flags not allowed here: {' '.join(bad)}", 0.0)
        flags = self.flags(candidate, compiler)
        key = content_hash(
            [candidate.model_dump(mode="json"), flags, compiler_version(compiler), machine_flags(), HEADER.read_text()],
            length=24,
        )
        artifact = folder / f"cpp-{key}" / "kernel.so"
        if artifact.exists():
            return BuildResult(True, artifact, "", time.monotonic() - start, cached=True)
        own = OwnedFolder(folder, ".cpp-")
        try:
            work = own.path / "build"
            work.mkdir()
            write_sources(candidate, work)
            command = [compiler, *flags, "-I.", *sources_of(candidate), "-o", "kernel.so"]
            done = run_compiler(command, folder=work, timeout_s=timeout_s)
            if not done.ok:
                return BuildResult(False, None, done.log, time.monotonic() - start)
            artifact.parent.mkdir(exist_ok=True)
            os.replace(work / "kernel.so", artifact)
            return BuildResult(True, artifact, done.log, time.monotonic() - start)
        finally:
            own.close()

    def export(self, candidate: Candidate, task: Task, facts: TaskFacts) -> str:
        """A ModelNew file with the sources in it."""
        native = ["-march=native"] if candidate.architecture == "native" else []
        flags = ["-O3", *native, *BASE_FLAGS, *self._chosen(candidate)]
        return export_text(candidate, task, flags=flags, header=HEADER.read_text(), sources=sources_of(candidate))

    def guide(self) -> str:
        """What an author has to know."""
        guide = (Path(__file__).parent / "cpp_guide.md").read_text(encoding="utf-8")
        return f"{guide.rstrip()}\n\nkernelwright.h declares\n\n```cpp\n{declarations()}\n```\n"

    def flags(self, candidate: Candidate, compiler: str) -> list[str]:
        """All flags but files, in the order in which later ones win."""
        native = ["-march=native"] if candidate.architecture == "native" else []
        return ["-O3", *native, *BASE_FLAGS, *openmp_flags(compiler), *self._chosen(candidate)]

    def _chosen(self, candidate: Candidate) -> list[str]:
        return [*candidate.flags, *(f"-D{t.name}={t.value}" for t in candidate.tunables)]


def sources_of(candidate: Candidate) -> list[str]:
    """The files that are compiled, and not only included."""
    found = [f.path for f in candidate.files if f.path.endswith((".cpp", ".cc", ".cxx", ".c++"))]
    return found or [candidate.entry_file]


def write_sources(candidate: Candidate, folder: Path) -> None:
    """Write a candidate's files and the header beside them."""
    for file in candidate.files:
        (folder / file.path).write_text(file.text, encoding="utf-8")
    shutil.copyfile(HEADER, folder / HEADER.name)
