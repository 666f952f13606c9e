"""Strangers' text: no markup, no HTML, no link, no terminal command survives."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.report.inert import markdown_block, markdown_code, markdown_text, one_line, plain, tail


def test_terminal_commands_vanish_and_hidden_characters_show() -> None:
    assert plain("\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://e\x1b\\link") == "red xlink"
    assert plain("a\u202eb\x00c\x08\r\nd\re\tf") == "a\\u202eb\\u0000c\\u0008\nd\ne\tf"


@given(st.text())
def test_no_control_character_survives(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", plain(text))
    assert "\n" not in one_line(text)


def test_one_line_cuts_with_an_ellipsis() -> None:
    assert one_line("a  b\n\nc") == "a b c"
    assert one_line("x" * 50, 20) == "x" * 17 + "..."


def test_a_log_keeps_its_end() -> None:
    assert tail("\n".join(map(str, range(30))), 3) == "(27 earlier lines left out)\n27\n28\n29"


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "**bold**", "[a](javascript:b)", "![a](http://x/y.png)", "`code`", "a | b", "~~no~~",
     "_em_", "&lt;b&gt;", "$x^2$", "<!-- hidden", "\\[a](b)"],
)  # fmt: skip
def test_inline_markdown_is_escaped(text: str) -> None:
    shown = markdown_text(text)
    assert "<" not in shown
    assert not re.search(r"(?<!\\)(?:\\\\)*[*`\[\]|~$]", shown)


def test_what_begins_a_line_is_escaped_only_there() -> None:
    assert markdown_text("# no heading") == "\\# no heading"
    assert markdown_text("- no list") == "\\- no list"
    assert markdown_text("1. no list") == "1\\. no list"
    assert markdown_text("1.31x speed-up of box_blur_3x3 (#4)") == "1.31x speed-up of box_blur_3x3 (#4)"


def test_no_autolink_and_no_mention() -> None:
    assert "://" not in markdown_text("see https://evil.example and www.evil.example")
    assert "www." not in markdown_text("www.evil.example")
    assert "@" not in markdown_text("thanks @someone")


def test_fences_are_longer_than_what_they_hold() -> None:
    assert markdown_code("a``b") == "```a``b```"
    assert markdown_code("`a`") == "`` `a` ``"
    assert markdown_block("x\n````\ny", "cpp") == "`````cpp\nx\n````\ny\n`````"
