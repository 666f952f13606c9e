"""Sections under a token budget; prices; keys out of texts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.agents.llm.assembling import Section, assemble, tokens_of
from kernelwright.agents.llm.exchange import Usage
from kernelwright.agents.llm.prices import PriceTable, shipped_prices
from kernelwright.agents.llm.redaction import without_secrets
from kernelwright.errors import ConfigError


def whole(ready, fixed=""):
    return tokens_of(
        "\n\n".join([fixed, *(f"## A title of usual length\n\n{t}" for t in ready.texts.values()), ready.note])
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.text("abc é\n", max_size=3000), st.integers(0, 10), st.booleans()), max_size=8),
    st.integers(600, 4000),
)
def test_a_prompt_never_exceeds_its_budget(parts, budget):
    sections = {f"s{i}": Section(text, keep, dropped) for i, (text, keep, dropped) in enumerate(parts)}
    ready = assemble(sections, budget_tokens=budget, fixed="x" * 500)
    assert whole(ready, "x" * 500) <= budget
    assert bool(ready.dropped) == bool(ready.note)


def test_the_least_important_goes_first_and_is_named():
    sections = {
        "task": Section("t\n" * 100, keep=9),
        "log": Section("line of the log\n" * 400, keep=3),
        "json": Section("{}" * 600, keep=1, whole=True),
    }
    ready = assemble(sections, budget_tokens=1200)
    assert list(ready.texts) == ["task", "log"] and "left out here" in ready.texts["log"]
    assert [d.split(" ")[-2:] for d in ready.dropped][1] == ["of", "log"] and ready.dropped[0].startswith("json")
    assert assemble({"task": sections["task"]}, budget_tokens=1200).note == ""


def test_prices():
    table = PriceTable({"mine-*": {"input": 2.0, "output": 4.0}})
    assert table.find("openai/mine-7b").cost_usd(Usage(1_000_000, 500_000, 400_000)) == pytest.approx(4.0)
    assert table.find("openai/gpt-4.1-mini") is shipped_prices()["gpt-4.1-mini"]
    assert table.find("openai/nobody-knows") is None
    assert table.find("openai/gpt-4.1-mini").cost_usd(Usage()) is None
    assert "read on" in shipped_prices()["gpt-4.1"].source
    with pytest.raises(ConfigError, match="needs `input`"):
        PriceTable({"x": {"input": 1.0}})


def test_keys_of_every_shape_are_cut_out():
    text = "sk-proj-abcdefghijklmnop1234 Bearer abcdefghijklmnopqrst http://user:secret@host/v1 my-own-secret "
    text += "risk-free-approach"
    told = without_secrets(text, ["my-own-secret"])
    assert told.count("[key removed]") == 4 and told.endswith("risk-free-approach")
