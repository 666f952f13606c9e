"""The shipped Halide recipes: every rung binds to pipelines of its kind, compiles, and gives what torch gives."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from search.references import Lambda, run_pipeline, task_facts
from search.schedules import directives_of
from torch import nn

from kernelwright.memory.solution_files import load_solution
from kernelwright.records import LanguageName
from kernelwright.search.schedule_space import PipelineSpace, pipelines_of

SHELF = Path(__file__).parents[2] / "knowledge" / "solutions"
RECIPES = {d.name: load_solution(d, origin="shipped") for d in sorted(SHELF.glob("halide-*"))}


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


CASES = {
    "halide-fused-pointwise": [(lambda t: F.gelu(t * 2 + 1), (37, 200)), (lambda t: torch.tanh(t) * t, (3, 5, 7))],
    "halide-fast-math-pointwise": [(lambda t: F.gelu(t, approximate="tanh"), (37, 200))],
    "halide-row-softmax": [(lambda t: F.softmax(t, -1), (19, 300)), (lambda t: F.softmax(t, 1), (2, 30, 70))],
    "halide-row-norm": [
        (nn.LayerNorm(100), (5, 7, 100)), (nn.GroupNorm(2, 6), (2, 6, 9, 20)),
        (nn.InstanceNorm2d(6), (3, 6, 9, 20)),
        (lambda t: t * torch.rsqrt(t.pow(2).mean(1, keepdim=True) + 1e-6), (4, 30, 90)),
    ],
    "halide-row-reduction": [
        (lambda t: t.sum(1), (33, 257)), (lambda t: t.amax(1), (5, 33, 70)), (lambda t: t.argmax(-1), (7, 100)),
        (lambda t: F.cross_entropy(t, torch.arange(9) % 5), (9, 100)), (torch.mean, (40, 50)),
    ],
    "halide-scan-rows": [(lambda t: t.cumsum(1), (19, 70)), (lambda t: t.cumsum(1), (3, 20, 100))],
    "halide-direct-window": [
        (nn.AvgPool2d(3, 1, 1), (2, 3, 37, 70)), (nn.MaxPool2d(2), (2, 3, 36, 70)),
        (nn.AvgPool1d(4, 2, 1), (2, 3, 150)),
        (nn.MaxPool3d(3, 2, 1), (1, 2, 9, 10, 40)), (lambda t: F.avg_pool2d(t[None], 3, 1)[0], (40, 90)),
    ],
    "halide-separable-window-tiles": [
        (nn.AvgPool2d(5, 1, 2), (2, 3, 70, 90)), (lambda t: F.avg_pool2d(t[None], 3, 1)[0], (70, 300)),
        (nn.MaxPool2d(3, 2, 1), (1, 3, 70, 90)),
    ],
    "halide-register-tiled-matmul-epilogue": [
        (nn.Sequential(nn.Linear(70, 130), nn.ReLU()), (50, 70)), (nn.Linear(70, 130), (3, 20, 70)),
        (lambda t: t @ t.mT, (3, 50, 40)), (lambda t: (t @ t.T).relu(), (100, 30)),
    ],
    "halide-direct-conv": [
        (nn.Sequential(nn.Conv2d(5, 12, 3, padding=1), nn.ReLU()), (2, 5, 20, 45)),
        (nn.Conv1d(8, 16, 5, stride=2), (2, 8, 90)),
        (nn.Conv2d(8, 16, 3, groups=2, dilation=2), (1, 8, 20, 40)), (nn.Conv3d(2, 6, 3), (1, 2, 6, 7, 40)),
    ],
    "halide-depthwise-conv": [(nn.Conv2d(6, 6, 3, padding=1, groups=6), (2, 6, 21, 70))],
    "halide-attention-blocked": [
        (lambda t: F.scaled_dot_product_attention(t, t.flip(2), t * 0.5), (2, 2, 70, 32)),
        (lambda t: F.scaled_dot_product_attention(t, t, t, is_causal=True), (1, 2, 50, 16)),
    ],
}  # fmt: skip
"""Recipe -> modules (or functions) of its kind with an input shape; odd sizes on purpose."""


def test_every_recipe_has_cases_and_is_general():
    assert set(CASES) == set(RECIPES)
    assert len(RECIPES) >= 8
    for solution in RECIPES.values():
        assert solution.language is LanguageName.HALIDE
        assert solution.task == ""


@pytest.mark.parametrize("name", CASES)
def test_every_rung_is_right(name):
    for case, (function, shape) in enumerate(CASES[name]):
        module = (function if isinstance(function, nn.Module) else Lambda(function)).eval()
        arguments = [draw(*shape, seed=case)]
        facts = task_facts(module, arguments)
        space = PipelineSpace()
        start = space.start(facts)
        assert start is not None, space.refusal
        with torch.no_grad():
            want = module(*arguments).numpy()
        last = RECIPES[name].rungs if case == 0 else RECIPES[name].rungs[-1:]
        for rung in last:
            begun = start.model_copy(update={"tunables": rung.candidate.tunables})
            made = space.apply(begun, rung.decision.directives)
            assert made is not None, (name, case, rung.name, space.refusal)
            values = {t.name: t.value for t in made.tunables}
            (got,) = run_pipeline(
                pipelines_of(made)["default"],
                directives_of(made),
                arguments,
                module,
                values=values,
                shapes=[want.shape],
            )
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5, err_msg=f"{name} {case} {rung.name}")


def test_tunables_stay_in_the_schedule_by_name():
    """What the tuner changes must reach the schedule without binding the recipe again."""
    for name, cases in CASES.items():
        function, shape = cases[0]
        module = function if isinstance(function, nn.Module) else Lambda(function)
        space = PipelineSpace()
        start = space.start(task_facts(module, [draw(*shape)]))
        for rung in RECIPES[name].rungs:
            begun = start.model_copy(update={"tunables": rung.candidate.tunables})
            made = space.apply(begun, rung.decision.directives)
            schedule = made.text("schedule.json")
            for tunable in made.tunables:
                if tunable.name != "TILE":  # only where a reduction leaves the innermost axis alone
                    assert f"${tunable.name}" in schedule, (name, rung.name, tunable.name)
