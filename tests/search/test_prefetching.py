"""Inputs asked for ahead: in which loop of which stage, at which distances, and nothing else changes."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from search.references import Lambda, run_pipeline, task_facts
from search.schedules import directives_of
from torch import nn

from kernelwright.records import Directive
from kernelwright.search.schedule_legality import problems_of
from kernelwright.search.schedule_space import PipelineSpace, concrete, pipelines_of
from kernelwright.search.schedule_text import parse_schedule, print_schedule

AHEAD = Directive(func="@stages", verb="prefetch_inputs", args=("$AHEAD",))


def recipe(*rows):
    return [*(Directive(func=f, verb=v, args=tuple(a)) for f, v, *a in rows), AHEAD]


POINTWISE = recipe(("@elementwise", "pointwise", "$LANES", "$UNROLL"))
ROWS = recipe(("@rowstats", "rows", "$LANES", "$UNROLL", "$TILE"))
CASES = {
    "pointwise": (lambda t: F.gelu(t), (60, 600), POINTWISE, [("gelu", 0, "x")]),
    "rows": (lambda t: F.softmax(t, -1), (60, 600), ROWS, [("softmax_max_partial", 1, "r_o")]),
    "columns": (
        lambda t: t * torch.rsqrt(t.pow(2).mean(1, keepdim=True) + 1e-6), (2, 30, 600), ROWS, [("sum", 1, "x")]
    ),
    "alone": (lambda t: t.sum(1), (40, 40, 40), recipe(("@rowstats", "reduce_alone", 16, 2)), [("sum", 1, "x")]),
    "strip": (
        nn.AvgPool2d(3, 1, 1), (1, 1, 200, 210),
        recipe(("@pools", "rewrite", "expand_window"), ("@pure_output", "strip", "$LANES", "$STRIP", "$HIGH")),
        [("avg_pool2d", 0, "xo")],
    ),
}  # fmt: skip
"""Kind -> function, shape of its input, recipe, and where it is asked for: (part of the Func's name, stage, loop)."""


def made(kind):
    """(candidate, module, argument) under the kind's recipe."""
    function, shape, steps, _ = CASES[kind]
    module = function if isinstance(function, nn.Module) else Lambda(function)
    argument = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    space = PipelineSpace()
    start = space.start(task_facts(module, [argument]))
    candidate = space.apply(start, steps)
    assert candidate is not None, space.refusal
    return candidate, module, argument


def asked(candidate):
    return [d for d in directives_of(candidate) if d.verb == "prefetch"]


@pytest.mark.parametrize("kind", CASES)
def test_an_input_is_asked_for_once_where_it_is_read_first(kind):
    candidate, module, argument = made(kind)
    found = asked(candidate)
    assert [(d.stage, d.args[1], d.args[2]) for d in found] == [(s, v, "$AHEAD") for _, s, v in CASES[kind][3]]
    for directive, (like, _, _) in zip(found, CASES[kind][3], strict=True):
        assert like in directive.func
    pipeline = pipelines_of(candidate)["default"]
    assert {d.args[0] for d in found} == {b.name for b in pipeline.buffers}
    assert problems_of(pipeline, concrete(candidate)) == []
    assert parse_schedule(print_schedule(concrete(candidate))) == concrete(candidate)
    with torch.no_grad():
        want = module(argument).numpy()
    for ahead in (0, 8):
        values = candidate.tunable_values() | {"AHEAD": ahead}
        (got,) = run_pipeline(
            pipeline, directives_of(candidate), [argument], module, values=values, shapes=[want.shape]
        )
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


def test_the_distance_is_a_tunable_that_may_be_none():
    (tunable,) = [t for t in made("pointwise")[0].tunables if t.name == "AHEAD"]
    assert 0 in tunable.values and tunable.value in tunable.values


@pytest.mark.parametrize(
    ("function", "shape"),
    [(torch.relu, (8, 100)), (lambda t: t.cumsum(1), (60, 600)), (lambda t: t[:, ::2] + 1, (80, 600))],
    ids=["small", "scan", "strided"],
)
def test_where_nothing_large_is_read_along_a_loop_it_does_not_fit(function, shape):
    space = PipelineSpace()
    start = space.start(task_facts(Lambda(function), [torch.randn(*shape)]))
    assert space.apply(start, [AHEAD]) is None and "no large input is read along a loop" in space.refusal
    optional = space.apply(start, [AHEAD.model_copy(update={"func": "@stages?"})])
    assert asked(optional) == [] and optional.tunables == (), "a tunable that changes nothing is none"


@pytest.mark.parametrize(
    ("args", "said"), [(("weights", "x", 8), "no input"), (("t", "q", 8), "no loop 'q'"), (("t",), "arguments")]
)
def test_a_wrong_one_is_refused_with_the_reason(args, said):
    candidate, _, _ = made("pointwise")
    pipeline = pipelines_of(candidate)["default"]
    name = pipeline.buffers[0].name
    args = tuple(name if a == "t" else a for a in args)
    output = pipeline.outputs[0]
    (problem,) = problems_of(pipeline, [Directive(func=output, verb="prefetch", args=args)])
    assert said in problem
