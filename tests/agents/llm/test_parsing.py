"""Parsing: what real models write, and what nobody may get through."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.agents.llm.edits import apply_edit, apply_edits
from kernelwright.agents.llm.exchange import BadAnswer
from kernelwright.agents.llm.parsing import Edit, parse_code, parse_json

CODE = '#include "kernelwright.h"\nKW_EXPORT int kw_run() {\n\treturn 0;\n}\n'


def files_of(text: str) -> dict[str, str]:
    return {f.path: f.text for f in parse_code(text).files}


@pytest.mark.parametrize(
    "heading",
    ["### FILE: kernel.cpp", "**kernel.cpp**", "`kernel.cpp`:", "### `kernel.cpp`", "File: kernel.cpp", "1. kernel.cpp",
     "#### kernel.cpp (changed)", "**File: `kernel.cpp`**", "FILE: kernel.cpp\n"],
)  # fmt: skip
def test_a_heading_names_the_file(heading):
    assert files_of(f"Here it is.\n\n{heading}\n```cpp\n{CODE}```\nGood luck!") == {"kernel.cpp": CODE}


@pytest.mark.parametrize(
    "info", ["cpp kernel.cpp", "cpp:kernel.cpp", "kernel.cpp", 'cpp title="kernel.cpp"', "c++ {kernel.cpp}"]
)
def test_a_fence_names_the_file(info):
    assert files_of(f"```{info}\n{CODE}```") == {"kernel.cpp": CODE}


def test_a_first_comment_names_the_file():
    assert list(files_of(f"```cpp\n// kernel.cpp\n{CODE}```")) == ["kernel.cpp"]


@pytest.mark.parametrize("info", ["", "cpp", "C++", "python"])
def test_one_block_without_a_name(info):
    assert files_of(f"Sure!\n```{info}\n{CODE}```\nIt is fast.") == {"": CODE}


def test_several_files_and_a_duplicate_that_corrects_the_first():
    text = "### FILE: a.cpp\n```cpp\nold\n```\n### FILE: b.h\n```cpp\nint b;\n```\n"
    text += f"Sorry, again:\n### FILE: a.cpp\n```cpp\n{CODE}```"
    assert files_of(text) == {"a.cpp": CODE, "b.h": "int b;\n"}


def test_of_unnamed_blocks_the_last_long_one_counts_and_shell_does_not():
    text = f"```cpp\nint x;\n```\nthen\n```cpp\n{CODE}```\nbuild with\n```bash\ng++ -O3 kernel.cpp {'x' * 200}\n```"
    assert files_of(text) == {"": CODE}


def test_crlf_and_odd_characters():
    text = ("\ufeff### FILE: kernel.cpp\n```cpp\n// größer → schneller\n" + CODE + "```\n").replace("\n", "\r\n")
    assert files_of(text) == {"kernel.cpp": "// größer → schneller\n" + CODE}


def test_a_longer_fence_may_hold_a_shorter_one():
    assert files_of("````cpp kernel.cpp\n// ```\nint x;\n````") == {"kernel.cpp": "// ```\nint x;\n"}


@pytest.mark.parametrize(
    "name", ["../kernel.cpp", "/etc/passwd.txt", "src/kernel.cpp", "C:\\kernel.cpp", "~/.ssh/id.pub", "a/../b.cpp"]
)
def test_other_paths_are_refused(name):
    with pytest.raises(BadAnswer, match="plain file name"):
        parse_code(f"### FILE: {name}\n```cpp\n{CODE}```")


def test_an_open_block_and_half_an_edit_are_refused():
    with pytest.raises(BadAnswer, match="never closed"):
        parse_code(f"### FILE: kernel.cpp\n```cpp\n{CODE}")
    with pytest.raises(BadAnswer, match="not complete"):
        parse_code("<<<<<<< SEARCH\na\n=======\nb\n")


@pytest.mark.parametrize("fenced", [True, False])
def test_edits(fenced):
    body = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE"
    text = f"### EDIT: kernel.cpp\n```\n{body}\n```" if fenced else f"### EDIT: kernel.cpp\n{body}\n"
    assert parse_code(text).edits == (Edit("kernel.cpp", "old", "new"),)


def test_edits_fall_in_place():
    text = "a\n  b(1);\n\tc();\nd\n"
    assert apply_edit(text, "  b(1);", "  b(2);", path="k") == "a\n  b(2);\n\tc();\nd\n"
    assert apply_edit(text, "  b(1);  \n    c();", "  x();", path="k") == "a\n  x();\nd\n"  # other blanks
    assert apply_edit("    foo(bar);\n", "foo(bar);", "foo(baz);\nqux();", path="k") == "    foo(baz);\n    qux();\n"
    assert apply_edit(text, "", "e", path="k").endswith("d\ne\n")


def test_a_part_of_a_line_is_found_where_it_occurs_once_and_cuts_no_word():
    text = "int n = 10; // rows\nint max = 100;\nfoo(n);\n"
    assert apply_edit(text, "n = 10", "n = 20", path="k") == text.replace("n = 10", "n = 20")
    assert apply_edit(text, "= 10; // rows\nint", "= 1;\nint", path="k").startswith("int n = 1;\nint max")
    assert apply_edit(text, "  // rows", "", path="k") == text.replace("// rows", "")
    for unfit in ("ax = 10", "int", "= 10"):
        with pytest.raises(BadAnswer):
            apply_edit(text, unfit, "x", path="k")


def test_the_nearest_passage_is_taken_within_a_limit():
    text = "int total = 0;\nfor (int i = 0; i < n; ++i) total += values[i] * weights[i];\nreturn total;\n"
    near = "for (int i = 0; i < n; i++) total += values[i] * weights[i];"
    assert "goal" in apply_edit(text, near, "goal();", path="k")
    with pytest.raises(BadAnswer, match="nearest passage"):
        apply_edit(text, "while (true) { do_something_else(); }", "x", path="k")


def test_a_passage_that_occurs_twice_is_asked_for_again():
    with pytest.raises(BadAnswer, match="occurs 2 times, at lines 1, 3"):
        apply_edit("x;\ny;\nx;\n", "x;", "z;", path="k")


def test_an_edit_without_a_file_finds_the_only_one_that_fits():
    files = {"a.cpp": "one\n", "b.cpp": "two\n"}
    assert apply_edits(files, [Edit("", "two", "three")]) == {"a.cpp": "one\n", "b.cpp": "three\n"}
    with pytest.raises(BadAnswer, match="does not say which file"):
        apply_edits(files, [Edit("", "four", "five")])
    with pytest.raises(BadAnswer, match="no file 'c.cpp'"):
        apply_edits(files, [Edit("c.cpp", "one", "five")])


@pytest.mark.parametrize(
    "text",
    ['```json\n[{"a": 1,},]\n```', 'Sure: [{"a": 1}] as asked', '```\n[\n // first\n {"a": 1}\n]\n```',
     '{"x": 2} is bad.\n```json\n[{"a": 1}]\n```'],
)  # fmt: skip
def test_json_as_models_write_it(text):
    assert parse_json(text) == [{"a": 1}]


def test_no_json():
    with pytest.raises(BadAnswer, match="JSON"):
        parse_json("I would tile the loop.")


lines = st.lists(
    st.text(
        st.characters(
            exclude_characters="\r\n\x00\ufeff\u200b\u200c\u200d\u2060\u00a0\u2028\u2029`~", exclude_categories=["Cs"]
        ),
        max_size=30,
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(lines, st.sampled_from(["\n", "\r\n"]), st.text("abc !?\n", max_size=40), st.sampled_from(["```", "~~~~"]))
def test_a_fenced_file_comes_out_as_it_was_written(body, newline, prose, fence):
    text = "\n".join(body)
    if any(mark in text for mark in ("<<<<<", "=====", ">>>>>")):
        return
    wrapped = f"{prose}\n\n### FILE: k.cpp\n{fence}cpp\n{text}\n{fence}\n{prose}".replace("\n", newline)
    assert files_of(wrapped) == {"k.cpp": text + "\n"}


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "```",
                "```cpp",
                "### FILE: a.cpp",
                "### FILE: ../x.cpp",
                "<<<<<<< SEARCH",
                "=======",
                ">>>>>>> REPLACE",
                "int x;",
                "",
                "{",
                "\r",
                "}]",
                "🦜",
                "\x00",
            ]
        ),
        max_size=14,
    )
)
def test_mangled_answers_give_files_or_a_reason(parts):
    text = "\n".join(parts)
    try:
        parsed = parse_code(text)
    except BadAnswer as reason:
        assert str(reason)
    else:
        assert all("/" not in f.path and ".." not in f.path for f in (*parsed.files, *parsed.edits))
    try:
        assert isinstance(parse_json(text), (dict, list))
    except BadAnswer as reason:
        assert str(reason)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("abcxyz(); \t", max_size=12), min_size=1, max_size=10, unique=True), st.data())
def test_an_exact_edit_changes_its_passage_only(body, data):
    at = data.draw(st.integers(0, len(body) - 1))
    if not body[at].strip():
        return
    text = "\n".join(body)
    try:
        changed = apply_edit(text, body[at], "NEW", path="k")
    except BadAnswer as reason:
        assert "occurs" in str(reason)
        return
    assert [line.strip() if line.strip() == "NEW" else line for line in changed.split("\n")] == [
        *body[:at],
        "NEW",
        *body[at + 1 :],
    ]


def test_a_fenced_json_list_survives_prose_with_brackets():
    value = [{"technique": "tile", "parameters": {"T": [1, 2]}}]
    assert parse_json(f"a[0] = {{1}}; here:\n```json\n{json.dumps(value)}\n```\nuse x[1].") == value
