"""Text of a model -> fenced files, edits and JSON. Pure functions over untrusted text; nothing is executed or opened.

Accepted forms, with prose anywhere between: a heading that names a file (``### FILE: kernel.cpp``, ``**kernel.cpp**``,
`` `kernel.cpp`: ``) before a fenced block, a name in the fence's first line or in the block's first comment, one block
without a name; ``<<<<<<< SEARCH / ======= / >>>>>>> REPLACE`` edits, fenced or not.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from kernelwright.agents.llm.exchange import BadAnswer

MAX_FILES = 8
MAX_ANSWER_CHARACTERS = 400_000
"""A longer answer is not looked into: no kernel needs it."""

_FENCE = re.compile(r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)$")
_NAME = r"[A-Za-z0-9_./\\:~\-]+\.[A-Za-z0-9+]{1,8}"
_HEADING = re.compile(
    rf"^[\s#>*\-\d.]*(?:\[?(?:FILE|File|file|EDIT|Edit|edit|Filename|filename|Path|path)\]?\s*[:=]?\s*)?[*_`'\"\[]*"
    rf"(?P<name>{_NAME})[*_`'\"\]]*\s*:?[*]*\s*(?:\([^)]*\))?\s*$"
)
_COMMENT_NAME = re.compile(rf"^\s*(?://|#|/\*)\s*(?:file(?:name)?\s*[:=]\s*)?(?P<name>{_NAME})\s*(?:\*/)?\s*$", re.I)
_SEARCH = re.compile(r"^\s{0,3}<{5,9}\s*(?:SEARCH|ORIGINAL|HEAD)\b.*$", re.I)
_MIDDLE = re.compile(r"^\s{0,3}={5,9}\s*$")
_REPLACE = re.compile(r"^\s{0,3}>{5,9}\s*(?:REPLACE|UPDATED|END)?\b.*$", re.I)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
_SHELL = frozenset({"bash", "sh", "shell", "console", "text", "txt", "output", "plaintext", "diff", "json", "asm"})
"""Fences of these are never taken for an unnamed source."""


@dataclass(frozen=True)
class FileBlock:
    """A whole file."""

    path: str
    """"" where the answer did not name it."""
    text: str
    info: str = ""
    """The fence's language, lower case; "" where it had none."""


@dataclass(frozen=True)
class Edit:
    """Replace one passage of a file."""

    path: str
    """"" where the answer did not name it."""
    search: str
    replace: str


@dataclass(frozen=True)
class Parsed:
    """What an answer holds."""

    files: tuple[FileBlock, ...]
    edits: tuple[Edit, ...]
    prose: str
    """Everything outside blocks and edits."""


@dataclass(frozen=True)
class _Block:
    """A fenced block or an edit's passage, with the heading before it."""

    heading: str
    info: str
    lines: tuple[str, ...]
    closed: bool


def normalise(text: str) -> str:
    """Line breaks as ``\\n``; no byte-order mark, no NUL, no zero-width characters, no odd spaces."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    for odd in ("\ufeff", "\u200b", "\u200c", "\u200d", "\u2060"):
        text = text.replace(odd, "")
    return text.replace("\u00a0", " ").replace("\u2028", "\n").replace("\u2029", "\n")


def parse_code(text: str) -> Parsed:
    """Files and edits of an answer.

    Raises:
        BadAnswer: too long, too many files, a block that never ends, a half edit, or a path that leads elsewhere.
    """
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise BadAnswer(f"The answer has {len(text)} characters; at most {MAX_ANSWER_CHARACTERS} are read.")
    blocks, prose = _blocks(normalise(text))
    files: dict[str, FileBlock] = {}
    unnamed: list[FileBlock] = []
    edits: list[Edit] = []
    for block in blocks:
        name = block.heading
        if any(_SEARCH.match(line) for line in block.lines):
            edits += _edits(block.lines, name)
            continue
        if not block.closed:
            raise BadAnswer("A fenced block was never closed: the answer looks cut off. Write it whole, or use edits.")
        name = name or _name_in_comment(block.lines)
        body = "\n".join(block.lines) + "\n"
        if name:
            plain_name(name)
            files[name] = FileBlock(name, body, block.info)  # of duplicates the last stands: models correct themselves
        elif block.info not in _SHELL and body.strip():
            unnamed.append(FileBlock("", body, block.info))
    edits += _edits(prose, "")
    found = _with_unnamed(files, unnamed)
    if len(found) > MAX_FILES:
        raise BadAnswer(f"The answer holds {len(found)} files; a candidate has at most {MAX_FILES}.")
    for edit in edits:
        if edit.path:
            plain_name(edit.path)
    return Parsed(tuple(found), tuple(dict.fromkeys(edits)), "\n".join(prose).strip())


def plain_name(name: str) -> str:
    """The name, if it is a plain file name.

    Raises:
        BadAnswer: it has a folder, a drive or a parent in it: candidates are flat folders.
    """
    if not _PLAIN_NAME.fullmatch(name) or ".." in name:
        raise BadAnswer(f"{name!r} is not a plain file name: a candidate is one flat folder, without any path.")
    return name


def parse_json(text: str) -> Any:
    """The JSON value of an answer: the last fenced block that is JSON, else the widest one in the prose.

    Raises:
        BadAnswer: there is none.
    """
    text = normalise(text)[:MAX_ANSWER_CHARACTERS]
    blocks, _ = _blocks(text)
    tries = ["\n".join(b.lines) for b in reversed(blocks)] + [text]
    for start, end in sorted((("{", "}"), ("[", "]")), key=lambda pair: text.find(pair[0]) % (len(text) + 1)):
        first, last = text.find(start), text.rfind(end)
        if 0 <= first < last:
            tries.append(text[first : last + 1])
    reason = "there is no JSON in it"
    for candidate in tries:
        for form in (candidate, _mended(candidate)):
            try:
                value = json.loads(form, strict=False)
            except (ValueError, RecursionError) as error:
                reason = str(error) if candidate.strip()[:1] in "{[" else reason
                continue
            if isinstance(value, (dict, list)):
                return value
    raise BadAnswer(f"The answer must hold one JSON value in a fenced json block: {reason}.")


def _mended(text: str) -> str:
    """Without comments at line ends and commas before a closing bracket, which models like to write."""
    text = re.sub(r"^\s*(?://|#).*$", "", text, flags=re.M)
    return re.sub(r",(\s*[}\]])", r"\1", text)


def _blocks(text: str) -> tuple[list[_Block], list[str]]:
    """Fenced blocks with the heading before each, and the lines outside."""
    blocks: list[_Block] = []
    prose: list[str] = []
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        opening = _FENCE.match(lines[position])
        if opening is None:
            prose.append(lines[position])
            position += 1
            continue
        fence = opening["fence"]
        end = _closing(lines, position + 1, fence)
        info, name = _info(opening["info"])
        heading = name or _heading(prose)
        blocks.append(_Block(heading, info, tuple(lines[position + 1 : end]), closed=end < len(lines)))
        position = end + 1
    return blocks, prose


def _closing(lines: list[str], start: int, fence: str) -> int:
    """The line that closes a fence; the number of lines where none does."""
    for number in range(start, len(lines)):
        stripped = lines[number].strip()
        if len(stripped) >= len(fence) and set(stripped) == {fence[0]}:
            return number
    return len(lines)


def _info(info: str) -> tuple[str, str]:
    """Language and file name of a fence's first line: ``cpp``, ``cpp kernel.cpp``, ``kernel.cpp``."""
    words = re.split(r"[\s:=,{}]+", info.strip())
    names = [w.strip("\"'`") for w in words if re.fullmatch(_NAME, w.strip("\"'`")) and "." in w]
    language = words[0].lower() if words and words[0] and words[0] not in names else ""
    return language, names[0] if names else ""


def _heading(prose: list[str]) -> str:
    """The file name that the last line before a block states, blank lines left out."""
    for line in reversed(prose[-3:]):
        if not line.strip():
            continue
        found = _HEADING.match(line)
        return found["name"] if found else ""
    return ""


def _name_in_comment(lines: tuple[str, ...]) -> str:
    first = next((line for line in lines if line.strip()), "")
    found = _COMMENT_NAME.match(first)
    return found["name"] if found and "/" not in found["name"] else ""


def _edits(lines: tuple[str, ...] | list[str], name: str) -> list[Edit]:
    """The edits in some lines; a heading between them names the file of those after it."""
    edits: list[Edit] = []
    part, search, replace = "", [""], [""]
    for line in lines:
        if part == "" and _SEARCH.match(line):
            part, search, replace = "search", [], []
        elif part == "search" and _MIDDLE.match(line):
            part = "replace"
        elif part == "replace" and _REPLACE.match(line):
            edits.append(Edit(name, "\n".join(search), "\n".join(replace)))
            part = ""
        elif part == "search":
            search.append(line)
        elif part == "replace":
            replace.append(line)
        elif (heading := _HEADING.match(line)) is not None:
            name = heading["name"]
    if part:
        raise BadAnswer(
            "An edit is not complete: it has to be `<<<<<<< SEARCH`, the old lines, `=======`, the new lines, "
            "`>>>>>>> REPLACE`, each marker on a line of its own."
        )
    return edits


def _with_unnamed(files: dict[str, FileBlock], unnamed: list[FileBlock]) -> list[FileBlock]:
    """Named files, and of unnamed blocks the last of the longest, when no file was named."""
    if files or not unnamed:
        return list(files.values())
    longest = max(len(block.text) for block in unnamed)
    near = [block for block in unnamed if len(block.text) >= 0.5 * longest]
    return [near[-1]]
