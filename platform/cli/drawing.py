"""How tables look in a terminal: width, colour, alignment. Everything here returns text; nothing is printed.

Text of others goes in as ``rich.text.Text`` without markup and without control characters. rich is imported when used.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kernelwright.report.inert import one_line, plain

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

LEAST_WIDTH = 72
"""Narrower terminals scroll sideways: a number is never cut."""
PIPED_WIDTH = 100
WIDE = 112
"""From this width on a table has room for one line a candidate."""
TONES = {"good": "green", "bad": "red", "neutral": "dim", "accent": "bold cyan", "": ""}


class _Sheet(io.StringIO):
    """A text buffer that tells rich the encoding of the stream that the text is for."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def width() -> int:
    """Columns to lay out for: the terminal's, COLUMNS where that is set, else a fixed width for files and pipes."""
    if os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty():
        return max(LEAST_WIDTH, shutil.get_terminal_size((PIPED_WIDTH, 24)).columns)
    return PIPED_WIDTH


def as_text(parts: Iterable[RenderableType], *, columns: int | None = None) -> str:
    """Lay out parts for stdout, coloured only when it is a terminal.

    Args:
        parts: rich renderables or plain strings (lines of code or logs: never markup, never broken).
        columns: the width; None means that of stdout.

    Returns:
        Lines without trailing blanks, and no final line break.
    """
    from rich.console import Console
    from rich.text import Text

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    terminal = sys.stdout.isatty()
    sheet = _Sheet(encoding)
    console = Console(
        file=sheet, width=columns or width(), force_terminal=terminal, no_color=None if terminal else True,
        color_system="auto" if terminal else None, highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    for part in parts:
        if isinstance(part, str):
            console.print(Text(plain(part)), soft_wrap=True)
        else:
            console.print(part)
    lines = [line.rstrip() for line in sheet.getvalue().split("\n")]
    return "\n".join(lines).strip("\n").encode(encoding, "replace").decode(encoding)


def words(text: str, style: str = "", *, limit: int = 0) -> Text:
    """Anybody's text as a cell: one line, no markup, no control characters."""
    from rich.text import Text

    return Text(one_line(text, limit), style=style)


def stack(lines: Sequence[Text | str]) -> Text:
    """Several lines in one cell."""
    from rich.text import Text

    return Text("\n").join([line if isinstance(line, Text) else Text(line) for line in lines])


def grid(*columns: str, title: str = "", right: Sequence[str] = (), flexible: Sequence[str] = ()) -> Table:
    """An empty table in the house style.

    Args:
        columns: the headings.
        title: a line above it.
        right: headings of columns of numbers.
        flexible: headings of columns that may be broken into lines; all others keep their width.
    """
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD, title=title or None, title_justify="left", title_style="bold", header_style="dim",
        border_style="dim", padding=(0, 1, 0, 0), pad_edge=False, show_edge=False,
    )  # fmt: skip
    for name in columns:
        bends = name in flexible
        table.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=not bends,
            overflow="fold",
            ratio=1 if bends else None,
            min_width=14 if bends else None,
        )
    table.expand = False
    return table


def labelled(rows: Iterable[tuple[str, Any]]) -> Table:
    """Label and text, two columns without headings."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows:
        table.add_row(label, words(text) if isinstance(text, str) else text)
    return table
