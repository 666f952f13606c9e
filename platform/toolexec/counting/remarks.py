"""What the compiler says of a C++ candidate's loops: vectorised or not, and why not.

Owns the flags that ask for it and the phrases that are kept. The text around them is a stranger's and is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kernelwright.records import Candidate
from kernelwright.toolexec.languages.compiling import compiler_version, cxx_compiler, run_compiler
from kernelwright.toolexec.languages.cpp import CppLanguage, sources_of, write_sources

FILE = "remarks.txt"
MOST = 5
_GCC = re.compile(r"^(?P<file>[\w.\-]+):(?P<line>\d+):\d+: (?P<kind>optimized|missed): +(?P<what>.*)$")
_CLANG = re.compile(r"^(?P<file>[\w.\-]+):(?P<line>\d+):\d+: remark: (?P<what>.*?)(?: \[-Rpass[^\]]*\])?$")
_VECTORISED = re.compile(r"vectorized(?: loop)?.*?(?:using (?P<bytes>\d+) byte vectors|width: (?P<width>\d+))")
_REASON = re.compile(r"^(?:not vectorized: |loop not vectorized: )(?P<why>[A-Za-z][A-Za-z ,\-]{3,80})")


def vectoriser_remarks(candidate: Candidate, folder: Path, *, timeout_s: float) -> list[str] | str:
    """A line for each loop that stands out, or why there are none.

    Args:
        candidate: of language ``cpp``.
        folder: empty, for the build.
        timeout_s: wall time.
    """
    compiler = cxx_compiler()
    if compiler is None:
        return "no C++ compiler"
    write_sources(candidate, folder)
    clang = "clang" in compiler_version(compiler)
    asked = [f"-fopt-info-vec-optimized-missed={FILE}"]
    if clang:
        asked = [f"-Rpass{kind}=loop-vectorize" for kind in ("", "-missed", "-analysis")]
    flags = CppLanguage().flags(candidate, compiler)
    command = [compiler, *flags, *asked, "-I.", *sources_of(candidate), "-o", "remarks.so"]
    done = run_compiler(command, folder=folder, timeout_s=timeout_s)
    if not done.ok:
        return "the build with remarks failed"
    said = done.log if clang else _read(folder / FILE)
    return read(said, [f.path for f in candidate.files])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read(text: str, files: Sequence[str]) -> list[str]:
    """Remarks on a candidate's own files: by line of the loop, what was not vectorised first."""
    wide: dict[tuple[str, int], int] = {}
    missed: dict[tuple[str, int], str] = {}
    last: tuple[str, int] | None = None
    for line in text.splitlines():
        found = _GCC.match(line) or _CLANG.match(line)
        if found is None or found["file"] not in files:
            continue
        place, what = (found["file"], int(found["line"])), found["what"]
        if (vector := _VECTORISED.search(what)) is not None and "not vectorized" not in what:
            size = int(vector["bytes"] or 0) or 4 * int(vector["width"])
            wide[place] = max(size, wide.get(place, 0))
        elif what.startswith("couldn't vectorize loop"):
            last = place
            missed.setdefault(place, "")
        elif (reason := _REASON.match(what)) is not None:
            at = place if what.startswith("loop") else last  # gcc names the statement after the loop that it is in
            if at is not None:
                missed[at] = missed.get(at) or reason["why"].strip()
    lines = [
        f"{file}:{number}: this loop was not vectorised" + (f": {why}" if why else "")
        for (file, number), why in sorted(missed.items())
        if (file, number) not in wide
    ]
    lines += [f"{file}:{number}: vectorised, {size} byte vectors" for (file, number), size in sorted(wide.items())]
    return lines[:MOST]
