"""Changing one value of a YAML text in place."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.memory.yaml_text import dump, parse, set_value

TEXT = """\
# top
a: 1   # one
list:
  - name: x   # the first
    text: >
      folded
      words

  # between
  - name: y
    old: {deep: [1, 2]}
    text: |
      # not a comment

      last
"""


def test_only_the_lines_of_the_value_change() -> None:
    new = set_value(TEXT, ("list", 1, "old"), {"deep": 3.5})
    assert new == TEXT.replace("old: {deep: [1, 2]}", "old: {deep: 3.5}")


def test_a_new_value_stands_after_its_neighbours() -> None:
    new = set_value(TEXT, ("list", 0, "new"), 7)
    assert new == TEXT.replace("      words\n", "      words\n    new: 7\n")


def test_a_value_goes_with_its_lines() -> None:
    assert set_value(TEXT, ("list", 0, "text"), None) == TEXT.replace("    text: >\n      folded\n      words\n", "")


def test_a_layout_that_cannot_be_edited_is_written_anew() -> None:
    new = set_value("a: {b: {c: 1}}\n", ("a", "b", "d"), [2])
    assert yaml.safe_load(new) == {"a": {"b": {"c": 1, "d": [2]}}}


def test_a_path_that_leads_nowhere() -> None:
    with pytest.raises(KeyError):
        set_value(TEXT, ("absent", "x"), 1)


def test_dates_stay_text() -> None:
    assert parse("created: 2025-01-31\n", where=Path("f")) == {"created": "2025-01-31"}


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=120)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(texts, trees, max_size=4))
def test_what_is_dumped_reads_back(data) -> None:
    assert parse(dump(data), where=Path("f")) == data


@given(trees)
def test_an_edit_changes_what_it_says_and_nothing_else(value) -> None:
    expected = yaml.safe_load(TEXT)
    if value is None:
        expected["list"][1].pop("old")
    else:
        expected["list"][1]["old"] = value
    assert yaml.safe_load(set_value(TEXT, ("list", 1, "old"), value)) == expected
