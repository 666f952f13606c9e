"""What NVIDIA's compilers say, cut to what an author or a model can use; and ptxas' words as numbers.

Owns trimming and reading. One error inside a template library can print tens of kilobytes on a line: of each error stay
its first line, the author's own line that led there, and nothing of what lies between.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

MOST = 1480
"""Characters of a trimmed log."""
MOST_ERRORS = 5
LINE = 260
_ERROR = re.compile(r"\berror\s*:|\bfatal\b|ptxas\s+error|\bundefined reference\b|\berror#\d+", re.IGNORECASE)
_INFO = re.compile(r"^\s*ptxas\s+(info|\.)")
_PATH = re.compile(r"(?:/[^\s:()\"']+)+/([^\s:()\"'/]+)")
_AT = re.compile(r"at line (\d+)(?: of (\S+))?")


@dataclass(frozen=True)
class PtxasWords:
    """What ptxas -v says of one kernel."""

    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    shared_bytes: int
    barriers: int


def ptxas_words(output: str) -> dict[str, PtxasWords]:
    """Kernel's (mangled) name -> ptxas' words on it."""
    found: dict[str, PtxasWords] = {}
    for block in re.split(r"Compiling entry function '", output)[1:]:
        name = block.partition("'")[0]
        block = block.split("Compiling entry function")[0]
        own = re.search(rf"Function properties for {re.escape(name)}\n(.*)", block)
        frame = [int(n) for n in re.findall(r"(\d+) bytes", own[1])] if own else [0, 0, 0]

        def number(pattern: str, text: str = block) -> int:
            match = re.search(pattern, text)
            return int(match[1]) if match else 0

        if "Used" in block and len(frame) >= 3:
            found[name] = PtxasWords(
                registers=number(r"Used (\d+) registers"),
                spill_store_bytes=frame[1],
                spill_load_bytes=frame[2],
                stack_bytes=frame[0],
                shared_bytes=number(r"(\d+) bytes smem"),
                barriers=number(r"used (\d+) barriers"),
            )
    return found


def trimmed_messages(output: str, *, own_files: Collection[str], folder: str) -> str:
    """A failed build's output as at most 1,480 characters, errors first, without paths of this machine.

    Args:
        output: all that the compiler printed.
        own_files: names of the candidate's files.
        folder: where it was built.
    """
    output = output.replace(f"{folder}/", "").replace(folder, ".")
    lines = output.splitlines()
    starts = [i for i, line in enumerate(lines) if _ERROR.search(line) and not _INFO.match(line)]
    if not starts:
        return _cut("\n".join(_short(line) for line in lines if line.strip() and not _INFO.match(line)))
    kept: list[str] = []
    for number, start in enumerate(starts):
        if number == MOST_ERRORS:
            kept.append(f"... and {len(starts) - number} more errors")
            break
        end = starts[number + 1] if number + 1 < len(starts) else len(lines)
        block = _error(lines[start:end], own_files)
        if block[0] not in kept:
            kept += block
    return _cut("\n".join(kept))


def _error(block: Sequence[str], own_files: Collection[str]) -> list[str]:
    """The first line of an error, the source line below it, and where in the author's files it comes from."""
    told = [_short(block[0])]
    if len(block) > 1 and block[1].strip() and not _is_frame(block[1]) and len(block[1]) < 400:
        told.append(_short(block[1]))
    if not any(name in told[0] for name in own_files):
        for line in block[1:]:
            place = _AT.search(line)
            if place and (place[2] is None or place[2].strip('."') in own_files):
                told.append(f"    from line {place[1]} of {(place[2] or 'the same file').strip('.')}")
                break
    return told


def _is_frame(line: str) -> bool:
    return "detected during" in line or "instantiation of" in line or line.lstrip().startswith("[ ")


def _short(line: str) -> str:
    line = _fold(_PATH.sub(r"\1", line.rstrip()))
    return line if len(line) <= LINE else line[: LINE - 4] + " ..."


def _fold(line: str) -> str:
    """Template arguments below the first level become ``<..>``."""
    if line.count("<") < 4:
        return line
    kept, depth = [], 0
    for letter in line:
        if letter == "<":
            depth += 1
            if depth == 2:
                kept.append("<..>")
        if depth < 2:
            kept.append(letter)
        if letter == ">" and depth:
            depth -= 1
    return "".join(kept)


def _cut(text: str) -> str:
    return text if len(text) <= MOST else text[: MOST - 4] + " ..."
