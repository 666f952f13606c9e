"""Search/replace edits of a text: whole lines, exactly or with other blanks; else parts of lines that occur once; else
the nearest passage within a limit.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from kernelwright.agents.llm.exchange import BadAnswer
from kernelwright.agents.llm.parsing import Edit

NEAREST = 0.9
"""How alike (difflib's ratio) a passage must be to what an edit searches for, to be taken for it."""
CLEAR = 0.03
"""By how much the nearest passage must be nearer than any other."""
SHOWN_LINES = 12


def apply_edits(files: dict[str, str], edits: Sequence[Edit]) -> dict[str, str]:
    """The files with all edits done, in order.

    Args:
        files: name -> text; not changed.
        edits: an edit without a path goes to the only file that holds its passage.

    Raises:
        BadAnswer: an edit names no file of these, or its passage is not there, or is there more than once.
    """
    done = dict(files)
    for edit in edits:
        path = edit.path or _file_of(edit, done)
        if path not in done:
            raise BadAnswer(f"There is no file {path!r} to edit; the files are {', '.join(sorted(done))}.")
        done[path] = apply_edit(done[path], edit.search, edit.replace, path=path)
    return done


def apply_edit(text: str, search: str, replace: str, *, path: str) -> str:
    """One edit; an empty search appends.

    Raises:
        BadAnswer: see :func:`apply_edits`.
    """
    if not search.strip():
        return text.rstrip("\n") + "\n" + replace.rstrip("\n") + "\n"
    lines, wanted = text.split("\n"), search.strip("\n").split("\n")
    for form in (str, str.rstrip, _collapsed):
        at = _places([form(line) for line in lines], [form(line) for line in wanted])
        if len(at) > 1:
            raise BadAnswer(
                f"The passage of an edit of {path} occurs {len(at)} times, at lines {_numbers(at)}:"
                f"\n{_quoted(wanted)}\nGive more lines around it, so that it occurs once."
            )
        if at:
            return _put(lines, at[0], len(wanted), replace, wanted)
    if (part := _once(text, search)) is not None:
        return text[: part.start()] + replace.strip("\n") + text[part.end() :]
    at_best, ratio, second = _nearest(lines, wanted)
    if ratio >= NEAREST and ratio - second >= CLEAR:
        return _put(lines, at_best, len(wanted), replace, wanted)
    near = lines[at_best : at_best + len(wanted)]
    raise BadAnswer(
        f"The passage of an edit is not in {path}. Searched for:\n{_quoted(wanted)}\nThe nearest passage, at line "
        f"{at_best + 1}, is:\n{_quoted(near)}\nCopy the lines exactly as they stand, or give the whole file."
    )


def _once(text: str, search: str) -> re.Match[str] | None:
    """Where a passage that begins or ends within a line stands, if it stands there only and cuts no word in two."""
    for passage in (search.strip("\n"), search.strip()):
        if text.count(passage) == 1:
            before, after = (r"(?<!\w)" if passage[0].isalnum() else ""), (r"(?!\w)" if passage[-1].isalnum() else "")
            return re.search(before + re.escape(passage) + after, text)
    return None


def _numbers(places: Sequence[int]) -> str:
    return ", ".join(str(place + 1) for place in places)


def _collapsed(line: str) -> str:
    return " ".join(line.split())


def _places(lines: list[str], wanted: list[str]) -> list[int]:
    n = len(wanted)
    return [i for i in range(len(lines) - n + 1) if lines[i] == wanted[0] and lines[i : i + n] == wanted]


def _nearest(lines: list[str], wanted: list[str]) -> tuple[int, float, float]:
    """Place and likeness of the nearest passage of as many lines, and the likeness of the next one apart from it."""
    n, target = len(wanted), "\n".join(map(_collapsed, wanted))
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(target)
    scores: list[tuple[float, int]] = []
    for i in range(max(1, len(lines) - n + 1)):
        matcher.set_seq1("\n".join(map(_collapsed, lines[i : i + n])))
        if matcher.real_quick_ratio() < 0.5 or matcher.quick_ratio() < 0.5:
            scores.append((0.0, i))
            continue
        scores.append((matcher.ratio(), i))
    best, at = max(scores, key=lambda s: (s[0], -s[1]))
    others = [score for score, i in scores if abs(i - at) >= n]
    return at, best, max(others, default=0.0)


def _put(lines: list[str], at: int, n: int, replace: str, wanted: list[str]) -> str:
    """The lines with a passage replaced; new lines are indented as the old ones were where the edit lost that."""
    new = replace.strip("\n").split("\n") if replace.strip("\n") else []
    have, told = _indent(lines[at]), _indent(wanted[0])
    if have != told and new:
        new = [have + line[len(told) :] if line.startswith(told) and line.strip() else line for line in new]
    return "\n".join([*lines[:at], *new, *lines[at + n :]])


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _quoted(lines: Sequence[str]) -> str:
    kept = [f"    {line}" for line in lines[:SHOWN_LINES]]
    return "\n".join([*kept, f"    ({len(lines) - SHOWN_LINES} more lines)"] if len(lines) > SHOWN_LINES else kept)


def _file_of(edit: Edit, files: dict[str, str]) -> str:
    """The file of an edit that names none: the only one, or the only one that holds its first line."""
    if len(files) == 1:
        return next(iter(files))
    first = next((line.strip() for line in edit.search.split("\n") if line.strip()), "")
    holding = [
        path for path, text in files.items() if first and any(line.strip() == first for line in text.split("\n"))
    ]
    if len(holding) != 1:
        raise BadAnswer(f"An edit does not say which file it is for; name one of {', '.join(sorted(files))}.")
    return holding[0]
