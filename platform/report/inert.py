"""Strangers' text made harmless: logs, code, messages, names of files and of kernels.

Every text that a candidate, a compiler, a task file or a model had a hand in goes through here before it reaches a
terminal or a Markdown file. HTML is escaped by jinja2's autoescape; this module adds what that does not cover.
"""

from __future__ import annotations

import html
import re
import unicodedata

from kernelwright.records.wording import format_count

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""ANSI escape sequences: colours, cursor moves, titles, links."""
_MARKDOWN = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
"""What has a meaning anywhere in a line; an underscore inside a word has none."""
_AT_START = re.compile(r"^(?:([-+#=])|(\d+)([.)])(?=\s|$))")
"""What has a meaning at the beginning of a line: headings, rules, lists."""


class Markdown(str):
    """Markdown that is already safe to put into a page."""


def plain(text: str) -> str:
    """Text without escape sequences; other control and direction-changing characters become visible.

    Line breaks and tabs stay; ``\\r\\n`` and ``\\r`` become line breaks.
    """
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else _visible(c) for c in text)


def one_line(text: str, limit: int = 0) -> str:
    """Plain text on one line, cut with an ellipsis at ``limit`` characters; 0 means not cut."""
    text = " ".join(plain(text).split())
    return text if not limit or len(text) <= limit else text[: max(1, limit - 3)].rstrip() + "..."


def tail(text: str, lines: int = 20) -> str:
    """The last lines of a log, plain, with a word about what was left out."""
    kept = plain(text).rstrip().split("\n")
    if len(kept) <= lines:
        return "\n".join(kept)
    return "\n".join([f"({format_count(len(kept) - lines, 'earlier line')} left out)", *kept[-lines:]])


def markdown_text(text: object) -> Markdown:
    """Inline Markdown that shows exactly this text: no markup, no HTML, no links, no mentions, no line breaks."""
    if isinstance(text, Markdown):
        return text
    escaped = _MARKDOWN.sub(r"\\\g<0>", one_line(str(text)))
    escaped = _AT_START.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\{m[3]}", escaped)
    escaped = html.escape(escaped, quote=False)
    escaped = escaped.replace("://", ":&#47;&#47;").replace("@", "&#64;")
    escaped = re.sub(r"(?i)\bwww\.", lambda m: m.group()[:-1] + "&#46;", escaped)
    return Markdown(escaped)


def markdown_code(text: object) -> Markdown:
    """Inline code, fenced by more backticks than it holds; a bar is written so that it ends no table cell."""
    line = one_line(str(text)) or " "
    fence = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return Markdown(f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|"))


def markdown_block(text: object, language: str = "") -> Markdown:
    """A fenced block, its fence longer than any run of backticks inside."""
    body = plain(str(text)).rstrip("\n")
    fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", body)), default=0) + 1)
    return Markdown(f"{fence}{language}\n{body}\n{fence}")


def _visible(character: str) -> str:
    return f"\\u{ord(character):04x}"
