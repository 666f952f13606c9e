"""PipelineSpace: starts, recipes with roles, proposals; and refusals that say why."""

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from search.references import Lambda, facts_of, run_pipeline, task_facts
from search.schedules import directives_of
from torch import nn

from kernelwright.protocols import ScheduleSpace
from kernelwright.records import Candidate, Directive, TaskFacts
from kernelwright.search.schedule_space import PipelineSpace, pipelines_of
from kernelwright.search.structure import Structure


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def started(function, *shape):
    module = function if isinstance(function, nn.Module) else Lambda(function)
    space = PipelineSpace()
    facts = task_facts(module, [draw(*shape)])
    start = space.start(facts)
    assert start is not None, space.refusal
    return space, start


def test_it_keeps_the_protocol():
    space: ScheduleSpace = PipelineSpace()
    assert space.start and space.apply and space.proposals


def test_a_start_is_a_readable_candidate_that_survives_json():
    _, start = started(lambda t: F.softmax(t, -1), 8, 100)
    assert Candidate.from_json(json.loads(json.dumps(start.to_json()))) == start
    assert start.entry_file == "schedule.json"
    assert max(len(line) for line in start.text("schedule.json").splitlines()) < 200
    names = [f.name for f in pipelines_of(start)["default"].funcs]
    assert names == ["softmax_max", "softmax_exp", "softmax_sum", "softmax_inverse", "softmax"]


def test_every_workload_is_in_the_algorithm():
    module = Lambda(torch.relu)
    facts = TaskFacts(task_id="t", workloads=tuple(facts_of(module, [draw(n, 8)], workload=f"w{n}") for n in (4, 6)))
    start = PipelineSpace().start(facts)
    assert set(pipelines_of(start)) == {"w4", "w6"}


def test_what_cannot_be_expressed_gives_none_and_a_reason():
    space = PipelineSpace()
    assert space.start(task_facts(Lambda(lambda a: a.sort()[0]), [draw(3, 5)])) is None
    assert "aten.sort" in space.refusal and "[3 x 5]" in space.refusal


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ([Directive(func="@rowstats", verb="rows", args=(16, 4, 64))], "@rowstats"),
        ([Directive(func="@nobody", verb="vectorize", args=("x", 8))], "unknown role"),
        ([Directive(func="nobody", verb="vectorize", args=("x", 8))], "no Func 'nobody'"),
        ([Directive(func="@output", verb="vectorize", args=("x", "$SECRET"))], r"\$SECRET"),
        ([Directive(func="@output", verb="rewrite", args=("wish",))], "unknown rewrite"),
    ],
)
def test_a_recipe_that_does_not_fit_gives_none_and_a_reason(recipe, reason):
    space, start = started(torch.relu, 8, 100)
    assert space.apply(start, recipe) is None
    import re

    assert re.search(reason, space.refusal), space.refusal


def test_an_optional_role_may_be_missing():
    space, start = started(torch.relu, 8, 100)
    recipe = [
        Directive(func="@rowstats?", verb="rows", args=(16,)),
        Directive(func="@output", verb="pointwise", args=(16, 1)),
    ]
    assert space.apply(start, recipe) is not None


def test_concrete_schedules_pass_as_they_are():
    space, start = started(torch.relu, 8, 100)
    recipe = (
        Directive(func="relu", verb="split", args=("x", "xo", "xi", 32)),
        Directive(func="relu", verb="vectorize", args=("xi", 16)),
    )
    assert tuple(directives_of(space.apply(start, recipe))) == recipe


def test_recipes_replace_each_other():
    """A recipe starts from the imported algorithm, whatever was applied before."""
    space, start = started(lambda t: F.avg_pool2d(t, 3, 1), 1, 1, 40, 40)
    by_name = {d.technique: d for d in space.proposals(start)}
    separable = space.apply(start, by_name["separable-window"].directives)
    assert pipelines_of(separable) != pipelines_of(start)
    again = space.apply(separable, by_name["window-in-registers"].directives)
    assert pipelines_of(again) == pipelines_of(start)
    assert directives_of(again) == directives_of(space.apply(start, by_name["window-in-registers"].directives))


def test_undeclared_tunables_get_their_known_domain():
    space, start = started(torch.relu, 8, 100)
    made = space.apply(start, [Directive(func="@output", verb="pointwise", args=("$LANES", "$UNROLL"))])
    assert {t.name for t in made.tunables} == {"LANES", "UNROLL"}


class SelfAttention(nn.Module):
    """Linear layers around an attention."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.before, self.after = nn.Linear(64, 192), nn.Linear(64, 64)

    def forward(self, t):
        q, k, v = (p.unflatten(-1, (2, 32)).transpose(1, 2) for p in self.before(t).split(64, -1))
        weights = F.softmax(q @ k.mT * 0.2, -1)
        return self.after((weights @ v).transpose(1, 2).flatten(2))


PROPOSED = {
    "pointwise": (lambda t: F.silu(t), (20, 100)),
    "rows": (lambda t: F.softmax(t, -1), (20, 100)),
    "scan": (lambda t: t.cumsum(1), (20, 100)),
    "pool": (lambda t: F.avg_pool2d(t, 3, 1, 1), (1, 2, 40, 50)),
    "linear": (nn.Linear(40, 70), (30, 40)),
    "long linear": (nn.Sequential(nn.Linear(130, 70), nn.ReLU(), nn.Linear(70, 33)), (31, 130)),
    "convolution": (nn.Conv2d(4, 8, 3), (1, 4, 20, 40)),
    "depthwise": (nn.Conv2d(4, 4, 3, groups=4), (1, 4, 20, 40)),
    "attention": (lambda t: F.scaled_dot_product_attention(t, t, t), (1, 2, 40, 16)),
    "self-attention": (SelfAttention(), (2, 40, 64)),
}


@pytest.mark.parametrize("kind", PROPOSED)
def test_proposals_apply_explain_themselves_and_are_right(kind):
    function, shape = PROPOSED[kind]
    module = function if isinstance(function, nn.Module) else Lambda(function)
    space, start = started(module, *shape)
    arguments = [draw(*shape)]
    with torch.no_grad():
        want = module(*arguments).numpy()
    decisions = space.proposals(start)
    assert decisions
    for decision in decisions:
        assert decision.source == "search" and decision.hypothesis and decision.summary and decision.bottleneck
        assert decision.predicted_speedup and decision.predicted_speedup > 1
        made = space.apply(start, decision.directives)
        values = made.tunable_values()
        (got,) = run_pipeline(
            pipelines_of(made)["default"], directives_of(made), arguments, module, values=values, shapes=[want.shape]
        )
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5, err_msg=decision.technique)


def test_kinds_of_funcs_are_told_apart():
    def kinds(function, *shape):
        _, start = started(function, *shape)
        s = Structure(pipelines_of(start)["default"])
        return [bool(k) for k in (s.pools, s.convolutions, s.products, s.rowstats, s.scans)]

    assert kinds(lambda t: F.avg_pool2d(t, 3), 1, 1, 9, 9) == [True, False, False, False, False]
    assert kinds(nn.Conv2d(2, 3, 3), 1, 2, 9, 9) == [False, True, False, False, False]
    assert kinds(nn.Conv2d(2, 3, 1), 1, 2, 9, 9) == [False, False, True, False, False]
    assert kinds(nn.Linear(8, 9), 4, 8) == [False, False, True, False, False]
    assert kinds(lambda t: t.sum(1), 9, 9) == [False, False, False, True, False]
    assert kinds(lambda t: t.cumsum(1), 9, 9) == [False, False, False, False, True]
    assert kinds(lambda t: F.adaptive_avg_pool2d(t, 1), 1, 2, 9, 9) == [False, False, False, True, False]


def test_a_linear_layer_can_be_tiled_without_packing():
    """Both operands lie along the sum; in a plain product one does not."""
    tile = [Directive(func="@products", verb="dot_tile", args=("$LANES", "$COLUMNS", "$LINES"))]
    space, start = started(nn.Linear(130, 70), 31, 130)
    made = space.apply(start, tile)
    assert {t.name for t in made.tunables} == {"LANES", "COLUMNS", "LINES"}
    places = {d.func: d.args for d in directives_of(made) if d.verb == "compute_at"}
    partial = next(name for name in places if name.endswith("_partial"))
    assert places[partial] == places[partial.removesuffix("_partial")], "sums of lanes and of tiles at one place"
    space, start = started(lambda t: t @ t[:64], 70, 64)
    assert space.apply(start, tile) is None and "does not fit" in space.refusal


def test_attention_is_found_between_the_linear_layers_around_it():
    space, start = started(SelfAttention(), 2, 40, 64)
    structure = Structure(pipelines_of(start)["default"])
    assert len(structure.products) == 4
    chosen = next(d for d in space.proposals(start) if d.technique == "attention-blocks")
    made = directives_of(space.apply(start, chosen.directives))
    weighted = structure.products[2]
    places = {d.func: d.args[0] for d in made if d.verb == "compute_at"}

    def around(name):
        return around(places[name]) if name in places else name

    assert {around(n) for n in structure.rowstats} == {around(weighted)}, "statistics of a block are made in its loops"
