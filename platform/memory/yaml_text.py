"""YAML as text: reading it strictly, and changing one value while every other line stays as it was.

Owns syntax only. It must not know what a solution is: ``solution_files.py`` does.
"""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from kernelwright.errors import LibraryError

try:  # ten times faster; some builds of PyYAML lack it
    from yaml import CSafeLoader as _BaseLoader
except ImportError:
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]

log = logging.getLogger(__name__)

MAX_BYTES = 1_000_000
"""A hand-written file is far smaller; a larger one is refused unread."""
WIDTH = 110

Path_ = Sequence[str | int]
"""Where a value stands: keys and list positions from the top, e.g. ("rungs", 2, "measured")."""


class _Loader(_BaseLoader):
    """Plain data only, and dates stay text (``created: 2026-01-31`` is a string)."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class _Dumper(yaml.SafeDumper):
    """Block style, long texts folded, short lists of plain values and mappings of numbers on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else (">" if len(value) > WIDTH - 30 else None)
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _list(dumper: _Dumper, value: Sequence[Any]) -> yaml.Node:
    short = all(_is_plain(v) for v in value) and sum(len(str(v)) + 2 for v in value) < WIDTH - 30
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=short)


def _mapping(dumper: _Dumper, value: dict[str, Any]) -> yaml.Node:
    plain = all(_is_plain(v) or (isinstance(v, list | tuple) and all(map(_is_plain, v))) for v in value.values())
    short = plain and sum(len(f"{k}: {v}, ") for k, v in value.items()) < WIDTH - 30
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=short)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, int | float | bool) or (isinstance(value, str) and len(value) < 40)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(tuple, _list)
_Dumper.add_representer(dict, _mapping)


def dump(data: dict[str, Any]) -> str:
    """YAML text for people: keys in the given order, block style, small leaves on one line."""
    dumper = _Dumper(io.StringIO(), sort_keys=False)
    node = dumper.represent_dict(data)
    node.flow_style = False
    return str(yaml.serialize(node, Dumper=_Dumper, allow_unicode=True, width=WIDTH))


def read(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        LibraryError: missing, unreadable, too large, no UTF-8, no YAML, no mapping, a key given twice, or an
            anchor (a few of them can stand for gigabytes).
    """
    return parse(read_text(path), where=path)


def read_text(path: Path) -> str:
    """The text of a file of ordinary size.

    Raises:
        LibraryError: missing, unreadable, too large or no UTF-8.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise LibraryError(f"{path}: {size} bytes are more than the {MAX_BYTES} a library file may have")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LibraryError(f"{path}: the file is missing") from None
    except UnicodeDecodeError as error:
        raise LibraryError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise LibraryError(f"{path}: {error.strerror or error}") from None


def parse(text: str, *, where: Path) -> dict[str, Any]:
    """The mapping in a YAML text; ``where`` names it in messages.

    Raises:
        LibraryError: see :func:`read`.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise LibraryError(f"{where}: expected `key: value` lines at the top")
        _refuse_traps(node, where)
        return dict(loader.construct_document(node))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise LibraryError(f"{where}{line}: not readable as YAML: {problem}") from None
    except (ValueError, RecursionError) as error:  # a number of absurd size, absurdly deep nesting
        raise LibraryError(f"{where}: not readable as YAML: {error}") from None
    finally:
        loader.dispose()


def _refuse_traps(root: yaml.Node, where: Path) -> None:
    """Refuse keys given twice (the last would win in silence), keys that are no names, and anchors."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            raise LibraryError(f"{where}:{node.start_mark.line + 1}: anchors and aliases are not allowed")
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            keys = set()
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise LibraryError(f"{where}:{key.start_mark.line + 1}: a key must be a plain name")
                if key.value in keys:
                    raise LibraryError(f"{where}:{key.start_mark.line + 1}: {key.value!r} is given twice")
                keys.add(key.value)
                stack.append(value)
        elif isinstance(node, yaml.SequenceNode):
            stack.extend(node.value)


def set_value(text: str, path: Path_, value: Any) -> str:
    """The YAML text with the value at ``path`` set, removed (None) or added; every other line stays as it is.

    Args:
        text: a mapping in YAML.
        path: keys and list positions; all but the last must exist.
        value: plain data; None removes the key.

    Returns:
        The new text. Where the layout cannot be edited in place (one-line mappings), it is written anew.

    Raises:
        KeyError, IndexError: ``path`` leads nowhere.
    """
    expected = parse(text, where=Path("<text>"))
    _assign(expected, path, value)
    edited = _edit_lines(text, path, value)
    try:
        if edited is not None and parse(edited, where=Path("<text>")) == expected:
            return edited
    except LibraryError as error:
        log.debug("editing in place failed, writing anew: %s", error)
    return dump(expected)


def _assign(data: Any, path: Path_, value: Any) -> None:
    for step in path[:-1]:
        data = data[step]
    if value is None:
        data.pop(path[-1], None)
    else:
        data[path[-1]] = value


def _edit_lines(text: str, path: Path_, value: Any) -> str | None:
    """Replace the lines of one key; None when they cannot be told apart from their neighbours'."""
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    for step in path[:-1]:
        node = _child(node, step)
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        return None
    lines = text.splitlines()
    indent = node.value[0][0].start_mark.column
    found = [(key, child) for key, child in node.value if key.value == path[-1]]
    block = "" if value is None else dump({str(path[-1]): value})
    new = [" " * indent + line for line in block.splitlines()]
    if found:
        first, last = found[0][0].start_mark.line, _last_line(found[0][1], lines)
        if lines[first][:indent].strip():  # the first key of a list item shares its line with the dash
            return None
    else:
        first = _last_line(node, lines) + 1
        last = first - 1
    return "\n".join([*lines[:first], *new, *lines[last + 1 :]]) + "\n"


def _child(node: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return node.value[step]
    return next(child for key, child in node.value if key.value == step)


def _last_line(node: yaml.Node, lines: Sequence[str]) -> int:
    """The last line (from 0) that a node stands on, without the blank lines and comments after it."""
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        last = min(node.end_mark.line, len(lines)) - 1
        while last > node.start_mark.line and not lines[last].strip():
            last -= 1
        return last
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        tail = node.value[-1]
        return _last_line(tail[1] if isinstance(tail, tuple) else tail, lines)
    return int(node.end_mark.line)


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        LibraryError: the disk refuses.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise LibraryError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
