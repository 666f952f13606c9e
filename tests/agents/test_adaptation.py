"""Adaptation: a solution's applies block against a task's facts."""

import pytest
from fakes.records import a_candidate, a_decision

from kernelwright.agents.adaptation import _Failed, adapt, bind, evaluate
from kernelwright.records import (
    ArgumentFacts,
    OperationFacts,
    Provenance,
    Rung,
    Solution,
    TaskFacts,
    WorkloadFacts,
)


def facts(*shapes: tuple[int, ...], dim: int = -1) -> TaskFacts:
    def workload(index: int, shape: tuple[int, ...]) -> WorkloadFacts:
        arguments = (
            ArgumentFacts(name="x", kind="input", dtype="float32", shape=shape),
            ArgumentFacts(name="weight", kind="parameter", dtype="float32", shape=(shape[-1], shape[-1])),
            ArgumentFacts(name="output0", kind="output", dtype="float32", shape=shape),
        )
        operations = (
            OperationFacts(name="permute", op="aten.permute.default", args=({"ref": "weight"}, [1, 0])),
            OperationFacts(name="view", op="aten.view.default", args=({"ref": "x"}, [-1])),
            OperationFacts(name="softmax", op="aten._softmax.default", args=({"ref": "x"}, dim, False)),
        )
        return WorkloadFacts(workload=f"w{index}", arguments=arguments, operations=operations)

    return TaskFacts(task_id="t", workloads=tuple(workload(i, s) for i, s in enumerate(shapes)))


def solution(**applies) -> Solution:
    rung = Rung(decision=a_decision(), candidate=a_candidate())
    provenance = Provenance(author="a", source="b")
    return Solution(
        id="s", title="t", description="d", family="softmax", language="cpp", entry="c", licence="Apache-2.0",
        provenance=provenance, rungs=(rung,), applies=applies,
    )  # fmt: skip


def test_a_match_ignores_views_and_transposed_parameters_and_computes_macros():
    wanted = solution(
        ops=["_softmax"],
        require=["in0.ndim == 2", "in0.dtype == 'float32'", "op0.args[1] in (-1, in0.ndim - 1)"],
        define={"COLUMNS": "in0.shape[1]", "SCALE": "1 / 4"},
    )
    binding = bind(wanted, facts((4, 8)))
    assert binding.fits, binding.why_not
    assert dict(binding.macros) == {"COLUMNS": "8", "SCALE": "0.25"}
    assert adapt(wanted.rungs[0], binding).flags == ("-DCOLUMNS=8", "-DSCALE=0.25")


@pytest.mark.parametrize(
    ("applies", "words"),
    [
        ({"ops": ["relu"]}, "the task does _softmax"),
        ({"ops_any": [["a"], ["b", "c"]]}, "does a | b c"),
        ({"ops": ["_softmax"], "require": ["in0.ndim == 3"]}, "needs in0.ndim == 3"),
        ({"ops": ["_softmax"], "require": ["in7.ndim == 3"]}, "cannot check"),
        ({"ops": ["_softmax"], "define": {"C": "in0.dtype"}}, "must be a number"),
    ],
)
def test_a_mismatch_says_why(applies, words):
    binding = bind(solution(**applies), facts((4, 8)))
    assert not binding.fits
    assert words in binding.why_not


def test_macros_must_agree_between_workloads():
    wanted = solution(ops=["_softmax"], define={"COLUMNS": "in0.shape[1]"})
    assert bind(wanted, facts((4, 8), (16, 8))).fits
    assert "differ between the workloads" in bind(wanted, facts((4, 8), (4, 9))).why_not


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "(lambda: 1)()",
        "[x for x in (1, 2)]",
        "in0.__class__",
        "'a'.join(('b',))",
        "min(key=1)",
        "open('f')",
        "f'{in0}'",
        "(" * 400,
    ],
)
def test_library_text_is_never_executed(text):
    with pytest.raises(_Failed):
        evaluate(text, {"in0": {"shape": (1,)}})
