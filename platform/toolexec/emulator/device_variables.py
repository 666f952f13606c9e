"""Variables of CUDA outside functions get room around them, so that one overrun into the next is told.

Owns what becomes of ``__device__``, ``__constant__`` and ``__managed__`` at namespace scope. A declaration of a form
that is not understood, and every const one, is left as it is: the emulator then sees it as memory like any other.
"""

from __future__ import annotations

import re

from kernelwright.toolexec.emulator.lexing import closing, masked, opening, split, uncommented, without_alignment

_QUALIFIER = re.compile(r"\b__(?:device|constant|managed)__\b")
_OTHER = re.compile(
    r"\b(?:const|constexpr|constinit|extern|inline|template|struct|class|union|enum|typedef|using|auto|friend|operator"
    r"|thread_local|__global__|__host__|__shared__)\b"
)
_DECLARATOR = re.compile(r"([A-Za-z_]\w*)\s*$")


def apart(text: str, mask: str) -> list[tuple[int, int, str]]:
    """Edits that put such variables apart from each other.

    Args:
        text: CUDA C++.
        mask: of it.
    """
    edits: list[tuple[int, int, str]] = []
    for match in _QUALIFIER.finditer(mask):
        start = _statement(mask, match.start())
        if start < 0 or (edits and start < edits[-1][1]):
            continue
        end = _end(mask, start)
        first = end - len(mask[start:end].lstrip())  # behind the comments before it
        made = _variables(uncommented(text[first:end]), mask) if end > 0 else ""
        if made and _at_namespace(mask, start):  # last: it reads everything before
            edits.append((first, end + 1, made))
    return edits


def _statement(mask: str, at: int) -> int:
    """Where the statement around a position begins; -1 in a line of the preprocessor."""
    line = mask.rfind("\n", 0, at) + 1
    if mask[line:at].lstrip().startswith("#"):
        return -1
    start = max(mask.rfind(letter, 0, at) for letter in ";{}") + 1
    directives = list(re.finditer(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*$", mask[start:at], re.M))
    return start + (directives[-1].end() if directives else 0)


def _at_namespace(mask: str, position: int) -> bool:
    """Is a position outside everything but namespaces and ``extern "C"``?"""
    open_: list[bool] = []
    for at, letter in enumerate(mask[:position]):
        if letter == "{":
            head = re.split(r"[;{}]", mask[max(0, at - 400) : at])[-1]
            open_.append(bool(re.search(r'\bnamespace\b[^()=]*$|\bextern\s*"[^"]*"\s*$', head)))
        elif letter == "}" and open_:
            open_.pop()
    return all(open_)


def _end(mask: str, start: int) -> int:
    """Where a variable's declaration ends; -1 where it is a function, a type or another thing."""
    at, assigned = start, False
    while at < len(mask):
        letter = mask[at]
        if letter == ";":
            return at
        if (
            letter == "("
            and not assigned
            and not re.search(r"\b(?:alignas|__align__|__builtin_align__)\s*$", mask[start:at])
        ):
            return -1
        assigned = (assigned or letter == "=") and letter != ","
        if letter in "([{":
            close = closing(mask, at)
            if close < 0 or (letter == "{" and not re.match(r"\s*[,;]", mask[close + 1 :])):
                return -1
            at = close
        elif letter in ")]}":
            return -1
        at += 1
    return -1


def _variables(declaration: str, whole: str) -> str:
    """The declarations with room around each; "" when the form is not understood."""
    mask = masked(declaration)
    if re.search(r"[<>]", re.sub(r"[^=]*=?", "", mask, count=1)) and "=" in mask:
        return ""  # a comparison or a template's brackets among the initial values
    text, align = without_alignment(declaration, mask)
    kind, made = "", ""
    for number, part in enumerate(split(text, masked(text))):
        shape = masked(part)
        value_at = min((i for i in (shape.find("="), shape.find("{")) if i >= 0), default=len(part))
        head, value = part[:value_at].rstrip(), part[value_at:].strip().removeprefix("=").strip()
        dims = ""
        while head.endswith("]"):
            at = opening(masked(head), len(head) - 1)
            head, dims = head[:at].rstrip(), head[at:] + dims
        found = _DECLARATOR.search(head)
        before = head[: found.start()] if found else ""
        if number == 0:
            kind = re.sub(rf"{_QUALIFIER.pattern}|\bstatic\b", "", before.rstrip("*& \n\t"))
        stars = before.rstrip()[len(before.rstrip("*& \n\t")) :]
        if not found or not kind.strip() or _OTHER.search(kind) or "&" in stars or re.search(r"\[\s*\]", dims):
            return ""
        if re.search(rf"\bextern\b[^;(){{}}]*\b{found[1]}\b", whole):
            return ""
        made += _one(found[1], f"{kind.strip()} {stars}", dims, value, align)
    return made


def _one(name: str, kind: str, dims: str, value: str, align: str) -> str:
    own = f"kwemu_t_{name}"
    if value and not value.startswith(("{", '"')):
        value = f"static_cast<{own}>({value})"
    initial = f" = {{{{}}, {value}, {{}}}}" if value else ""
    return (
        f"typedef {kind} {own} {dims}; static kwemu::Apart<{own}, {align}> kwemu_v_{name}{initial}; "
        f'static {own}& {name} = kwemu_v_{name}.value; static kwemu::Known kwemu_k_{name}(kwemu_v_{name}, "{name}"); '
    )
