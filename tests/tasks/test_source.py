"""Constants, overrides and the form of a reference, by parsing alone."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.errors import TaskError
from kernelwright.tasks.source import (
    check_reference,
    module_constants,
    parse_overrides,
    parse_value,
    with_overrides,
)

REFERENCE = """\
import torch

batch_size = 4096  # rows
dim = 1024
M = batch_size * 2
groups = dim
height, width = 32, 64
kernel_size = (3, 5)
layer_sizes = [1024, 512]
eps = 1e-5
name = "tanh"
flag = True
scale = -1.0
net = torch.nn.ReLU()


class Model(torch.nn.Module):
    def forward(self, x):
        return x


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
"""


def run(source: str) -> dict:
    """Execute our own text without its torch lines."""
    names: dict = {}
    text = "\n".join(line for line in source.split("class Model")[0].splitlines() if "torch" not in line)
    exec(compile(text, "reference", "exec"), names)
    return {k: v for k, v in names.items() if not k.startswith("__")}


def test_constants_are_read_by_parsing():
    assert module_constants(REFERENCE) == {
        "batch_size": 4096,
        "dim": 1024,
        "M": 8192,
        "groups": 1024,
        "height": 32,
        "width": 64,
        "kernel_size": (3, 5),
        "layer_sizes": (1024, 512),
        "eps": 1e-5,
        "name": "tanh",
        "flag": True,
        "scale": -1.0,
    }


def test_derived_constants_see_the_override():
    names = run(with_overrides(REFERENCE, {"batch_size": 16, "dim": 8}))
    assert (names["batch_size"], names["M"], names["dim"], names["groups"]) == (16, 32, 8, 8)


def test_a_derived_constant_can_itself_be_set():
    names = run(with_overrides(REFERENCE, {"batch_size": 16, "M": 3}))
    assert (names["batch_size"], names["M"]) == (16, 3)


def test_no_other_line_changes():
    before = REFERENCE.splitlines()
    after = with_overrides(REFERENCE, {"batch_size": 16, "width": 2, "layer_sizes": (7, 7)}).splitlines()
    added = [line for line in after if line not in before]
    assert added == ["batch_size = 16", "width = 2", "layer_sizes = [7, 7]"]
    assert [line for line in after if line in before] == before


def test_no_overrides_give_the_text_itself():
    assert with_overrides("this is no python", {}) == "this is no python"


@pytest.mark.parametrize(
    ("source", "overrides", "expected"),
    [
        ("a = 1; b = a * 2", {"a": 5}, {"a": 5, "b": 10}),
        ("a = 1; b = a * 2; c = b", {"a": 5, "b": 3}, {"a": 5, "b": 3, "c": 3}),
        ("a = (1,\n     2)\nb = a", {"a": (3, 4)}, {"a": (3, 4), "b": (3, 4)}),
        ("a: int = 1\nb = a", {"a": 2}, {"a": 2, "b": 2}),
        ("a = 1\na += 1\nb = a", {"a": 7}, {"a": 7, "b": 7}),
        ("a = b = 1", {"b": 4}, {"a": 1, "b": 4}),
        ("s = 'é'; a = 1; b = a", {"a": 3}, {"s": "é", "a": 3, "b": 3}),
        ("a = 1\r\nb = a\r\n", {"a": 3}, {"a": 3, "b": 3}),
        ("a = 1\x0c\nb = a", {"a": 3}, {"a": 3, "b": 3}),
    ],
)
def test_overrides_hold_wherever_the_constant_is_assigned(source, overrides, expected):
    assert run(with_overrides(source, overrides)) == expected


@given(
    values=st.lists(st.integers(-1000, 1000), min_size=1, max_size=8),
    picks=st.data(),
)
def test_overriding_equals_editing(values, picks):
    names = [f"c{i}" for i in range(len(values))]
    chosen = picks.draw(st.dictionaries(st.sampled_from(names), st.integers(-9, 9)))
    separators = [picks.draw(st.sampled_from(["\n", "; ", "  # note\n", "\n\n"])) for _ in values]

    def text(of: dict) -> str:
        parts = [
            f"{n} = {of[n]}" + (" + " + names[i - 1] if i and n not in chosen else "") for i, n in enumerate(names)
        ]
        return "".join(part + sep for part, sep in zip(parts, separators, strict=True)).rstrip("; ")

    own = dict(zip(names, values, strict=True))
    assert run(with_overrides(text(own), chosen)) == run(text({**own, **chosen}))


@pytest.mark.parametrize(
    ("overrides", "message", "hint"),
    [
        ({"batchsize": 4}, "r.py: no module constant 'batchsize' to set", "did you mean 'batch_size'"),
        ({"net": 4}, "r.py: no module constant 'net' to set", "constants: batch_size=4096, dim=1024"),
        ({"dim": "big"}, "r.py: dim is a number (1024), it cannot be set to 'big'", "of the same kind"),
        ({"dim": (1, 2)}, "r.py: dim is a number (1024), it cannot be set to (1, 2)", "of the same kind"),
        ({"flag": 1}, "r.py: flag is a bool (True), it cannot be set to 1", "of the same kind"),
        (
            {"kernel_size": 3},
            "r.py: kernel_size is a tuple of ints ((3, 5)), it cannot be set to 3",
            "of the same kind",
        ),
    ],
)
def test_bad_overrides_are_refused(overrides, message, hint):
    with pytest.raises(TaskError) as caught:
        with_overrides(REFERENCE, overrides, where="r.py")
    assert caught.value.message == message
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1024", 1024), ("-3", -3), ("1_000", 1000), ("1e-5", 1e-5), ("2.0", 2.0), ("true", True), ("False", False),
        ("3,4", (3, 4)), ("(3, 4)", (3, 4)), ("[3, 4]", (3, 4)), ("(3,)", (3,)), ("tanh", "tanh"), ("'5'", "5"),
        ("__import__('os')", "__import__('os')"), ("1.5,2", "1.5,2"),
    ],
)  # fmt: skip
def test_values_of_the_command_line(text, value):
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


def test_overrides_of_the_command_line():
    assert parse_overrides(["batch_size=16", "shape = 3,4"]) == {"batch_size": 16, "shape": (3, 4)}
    for pair in ("batch_size", "=3", "a b=3", "a="):
        with pytest.raises(TaskError, match="cannot read the override"):
            parse_overrides([pair])


def test_parsing_never_executes(tmp_path):
    trap = tmp_path / "trap"
    source = (
        f"open({str(trap)!r}, 'w')\na = 1\nb = __import__('os').getpid()\nc = 2 ** 10 ** 10\nd = 'x' * 10**9\n"
        + REFERENCE
    )
    check_reference(source)
    assert "b" not in module_constants(source)
    assert "c" not in module_constants(source)
    with_overrides(source, {"a": 3})
    assert not trap.exists()


def test_a_complete_reference_is_accepted():
    assert isinstance(check_reference(REFERENCE), ast.Module)


def test_an_inherited_forward_counts():
    source = REFERENCE.replace("class Model(torch.nn.Module)", "class Base(torch.nn.Module)")
    check_reference(source + "\nclass Model(Base):\n    pass\n")


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("def f(:\n", "r.py:1: cannot be parsed as Python (invalid syntax): def f(:", "correct that line"),
        ("a = 1\n  b = 2\n", "r.py:2: cannot be parsed as Python (unexpected indent): b = 2", "correct that line"),
        ("a\0b", "r.py: cannot be parsed as Python (", ""),
        ("(" * 5000, "r.py", ""),
        ("", "r.py: no class Model", "define `class Model(nn.Module)`"),
        ("class Modell:\n    pass\n", "r.py:1: no class Model (there is a class 'Modell')", "get_init_inputs()"),
        ("class Model:\n    pass\n", "r.py:1: class Model has no method forward", "define `def forward(self, ...)`"),
        (REFERENCE.replace("def get_inputs", "def make"), "r.py: no function get_inputs", "add `def get_inputs()"),
        (
            REFERENCE.replace("def get_init", "def init"),
            "r.py: no function get_init_inputs",
            "add `def get_init_inputs()",
        ),
        (
            REFERENCE.replace("# rows", "# KW-FILL-IN: rows"),
            "r.py:3: the draft is not finished, 1 line(s) still hold KW-FILL-IN",
            "complete lines 3 of r.py and take the mark away",
        ),
    ],
)
def test_what_is_no_reference_is_refused(source, message, hint):
    with pytest.raises(TaskError) as caught:
        check_reference(source, where="r.py")
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2
