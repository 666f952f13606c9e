"""Schedules as text that a person reads and edits: one line a stage, ``blury: at out.x, tile 256x32, vectorize 16``.

Owns printing, parsing and comparing; parsing what was printed gives the same Directives. Phrases, in the order in which
they are carried out::

    inline | root | at FUNC.LOOP | store root | store at FUNC.LOOP | store in Stack
    tile 256x32                 x and y into xo yo xi yi, inner ones innermost
    gpu_tile 16x8               likewise, xo yo over GPU blocks and xi yi over threads (cuda target alone)
    split x 16 -> xo xi         options of the split behind the factor
    order xi yi xo yo           innermost first
    vectorize 16                the innermost loop so far, or a named one: vectorize y 4; without a number all of it
    unroll ..., parallel ...    likewise
    rfactor r 16 4              partial results: 4 vectors of 16

Any other verb stands as it is, with its arguments behind it. ``blury.update(0)`` names an update; ``#`` begins a
comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from kernelwright.records import Directive

RENAMED = {"inline": "inline", "root": "compute_root", "rfactor": "vectorize_reduction", "order": "reorder"}
"""Phrase -> verb, where only the name differs."""
INNERMOST = ("vectorize", "unroll", "parallel")
"""Verbs whose loop may be left out when it is the innermost one."""
TILES = ("tile", "gpu_tile")
TILED = ("x", "y", "xo", "yo", "xi", "yi")
_STAGE = re.compile(r"^(?P<func>[^\s:]+?)(?:\.update\((?P<update>\d+)\))?\s*:\s*(?P<rest>.*)$")
_PLAIN = re.compile(r"^[A-Za-z_@$][\w@$?.\-]*$")


class ScheduleTextError(ValueError):
    """A line that is no part of a schedule; the message names the line and what was expected."""


class _Innermost:
    """The loop that is innermost after the phrases so far, as far as the text tells."""

    def __init__(self) -> None:
        self.loop = "x"

    def note(self, verb: str, args: Sequence[Any]) -> None:
        if verb in TILES and len(args) == 8:
            self.loop = args[4]
        elif verb == "reorder" and args:
            self.loop = args[0]
        elif verb == "split" and len(args) > 2 and args[0] == self.loop:
            self.loop = args[2]


def print_schedule(directives: Sequence[Directive]) -> str:
    """The text of a schedule; neighbours of the same stage share a line."""
    lines: list[str] = []
    last: tuple[str, int] | None = None
    innermost = _Innermost()
    for directive in directives:
        place = (directive.func, directive.stage)
        if place != last:
            innermost = _Innermost()
        phrase = _phrase(directive, innermost)
        innermost.note(directive.verb, directive.args)
        lines[-1:] = [f"{lines[-1]}, {phrase}"] if place == last else [*lines[-1:], f"{_stage(*place)}: {phrase}"]
        last = place
    return "\n".join(lines) + "\n" if lines else ""


def _stage(func: str, stage: int) -> str:
    return func if stage == 0 else f"{func}.update({stage - 1})"


def _phrase(directive: Directive, innermost: _Innermost) -> str:
    verb, args = directive.verb, list(directive.args)
    if verb in ("compute_at", "store_at") and len(args) == 2 and all(_PLAIN.match(str(a)) for a in args):
        return f"{'at' if verb == 'compute_at' else 'store at'} {args[0]}.{args[1]}"
    if verb == "store_root" and not args:
        return "store root"
    if verb == "store_in" and len(args) == 1:
        return f"store in {_word(args[0])}"
    if verb in TILES and tuple(args[:6]) == TILED and len(args) == 8 and not any(_odd(a) for a in args[6:]):
        return f"{verb} {args[6]}x{args[7]}"
    if verb == "split" and len(args) >= 4:
        words = [_word(a) for a in (args[0], *args[3:])]
        return f"split {' '.join(words)} -> {_word(args[1])} {_word(args[2])}"
    if verb in INNERMOST and args and args[0] == innermost.loop and (len(args) == 1 or isinstance(args[1], int)):
        args = args[1:]
    name = next((phrase for phrase, v in RENAMED.items() if v == verb), verb)
    return " ".join([name, *[_word(a) for a in args]])


def _odd(value: Any) -> bool:
    return not isinstance(value, int) or isinstance(value, bool)


def _word(value: Any) -> str:
    """An argument as a word: names and integers as they are, anything else as JSON."""
    if isinstance(value, str) and _PLAIN.match(value):
        return value
    return json.dumps(value)


def parse_schedule(text: str) -> list[Directive]:
    """The Directives of a text.

    Raises:
        ScheduleTextError: naming the line.
    """
    directives: list[Directive] = []
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.split("#", 1)[0].strip() if '"' not in line else line.strip()
        if not bare:
            continue
        found = _STAGE.match(bare)
        if found is None:
            raise ScheduleTextError(f"line {number}: expected `func: phrase, phrase`, found {bare!r}")
        stage = int(found["update"]) + 1 if found["update"] else 0
        innermost = _Innermost()
        for phrase in _phrases(found["rest"]):
            try:
                verb, args = _read(phrase, innermost)
            except (ValueError, IndexError) as error:
                raise ScheduleTextError(f"line {number}: cannot read {' '.join(phrase)!r}: {error}") from None
            innermost.note(verb, args)
            directives.append(Directive(func=found["func"], verb=verb, args=tuple(args), stage=stage))
    return directives


def _phrases(text: str) -> list[list[str]]:
    """Comma-separated phrases as lists of words; JSON may hold commas and spaces."""
    phrases: list[list[str]] = [[]]
    place, decoder = 0, json.JSONDecoder()
    while place < len(text):
        character = text[place]
        if character == ",":
            phrases.append([])
            place += 1
        elif character.isspace():
            place += 1
        elif character in '"[{':
            end = decoder.raw_decode(text, place)[1]
            phrases[-1].append(text[place:end])
            place = end
        else:
            end = place
            while end < len(text) and text[end] not in ", \t":
                end += 1
            phrases[-1].append(text[place:end])
            place = end
    return [p for p in phrases if p]


def _value(word: str) -> Any:
    try:
        return json.loads(word)
    except json.JSONDecodeError:
        return word


def _read(words: list[str], innermost: _Innermost) -> tuple[str, list[Any]]:
    head, rest = words[0], words[1:]
    if head == "at" or (head == "store" and rest[:1] == ["at"]):
        verb, level = ("compute_at", rest[0]) if head == "at" else ("store_at", rest[1])
        func, dot, loop = level.rpartition(".")
        if not dot:
            raise ValueError("expected FUNC.LOOP")
        return verb, [func, loop]
    if head == "store" and rest[:1] == ["root"]:
        return "store_root", []
    if head == "store" and rest[:1] == ["in"]:
        return "store_in", [_value(rest[1])]
    if head in TILES and len(rest) == 1:
        width, times, height = rest[0].partition("x")
        if not times:
            raise ValueError("expected WIDTHxHEIGHT")
        return head, [*TILED, int(width), int(height)]
    if head == "split" and "->" in rest:
        at = rest.index("->")
        values = [_value(w) for w in (rest[0], rest[at + 1], rest[at + 2], *rest[1:at])]
        if len(values) < 4:
            raise ValueError("expected LOOP FACTOR -> OUTER INNER")
        return "split", values
    args = [_value(w) for w in rest]
    if head in INNERMOST and not (args and isinstance(args[0], str) and not args[0].startswith("$")):
        args = [innermost.loop, *args]
    return RENAMED.get(head, head), args


def diff_schedules(old: Sequence[Directive], new: Sequence[Directive]) -> list[str]:
    """What changed, a line each: ``- `` what is gone, ``+ `` what is new; [] for equal schedules. Stages that only
    stand in another order count as equal."""
    before, after = _by_stage(old), _by_stage(new)
    lines = []
    for place in dict.fromkeys((*before, *after)):
        was, now = before.get(place), after.get(place)
        if was != now:
            lines += [f"- {was}"] if was else []
            lines += [f"+ {now}"] if now else []
    return lines


def _by_stage(directives: Sequence[Directive]) -> dict[tuple[str, int], str]:
    places: dict[tuple[str, int], list[Directive]] = {}
    for directive in directives:
        places.setdefault((directive.func, directive.stage), []).append(directive)
    return {place: print_schedule(group).strip() for place, group in places.items()}
