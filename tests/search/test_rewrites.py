"""Rewrites of an algorithm: applied only where their form is recognised, and never changing the result."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from search.references import Lambda, facts_of, run_pipeline

from kernelwright.search.lowering import lower
from kernelwright.search.rewrites import REWRITES
from kernelwright.search.structure import Structure


def pipeline_of(function, *shape):
    module = Lambda(function)
    arguments = [torch.randn(*shape, generator=torch.Generator().manual_seed(0))]
    return lower(facts_of(module, arguments)), module, arguments


WINDOWS = [
    lambda t: F.avg_pool2d(t, 3, 1, 1),
    lambda t: F.max_pool2d(t, (3, 5), (1, 2)),
    lambda t: F.max_pool2d(t, 3, 2, 1, dilation=2),
    lambda t: F.avg_pool2d(t, 2),
]


@pytest.mark.parametrize("rewrite", ["separable_window", "expand_window"])
def test_windows_by_other_steps_give_the_same(rewrite):
    for function in WINDOWS:
        pipeline, module, arguments = pipeline_of(function, 2, 3, 17, 19)
        for name in Structure(pipeline).pools:
            changed = REWRITES[rewrite](pipeline, name)
            assert changed != pipeline
            (got,) = run_pipeline(changed, [], arguments, module)
            np.testing.assert_allclose(got, module(*arguments).numpy(), rtol=1e-5, atol=1e-6)


def test_two_passes_do_less_work():
    pipeline, _, _ = pipeline_of(lambda t: F.avg_pool2d(t, 5, 1), 1, 1, 30, 30)
    (name,) = Structure(pipeline).pools
    changed = REWRITES["separable_window"](pipeline, name)
    domains = [[d.extent for u in f.updates for d in u.domain] for f in changed.funcs if f.updates]
    assert domains == [[5], [5]]
    assert REWRITES["separable_window"](changed, name) == changed


@pytest.mark.parametrize(
    "function",
    [
        lambda t: F.conv2d(t, torch.ones(1, 1, 3, 3)),
        lambda t: t.sum((2, 3)),
        lambda t: torch.relu(t),
        lambda t: F.softmax(t, 3),
        lambda t: F.avg_pool1d(t[0], 3),
    ],
)
def test_what_is_no_box_window_is_left_alone(function):
    pipeline, _, _ = pipeline_of(function, 1, 1, 9, 9)
    for func in pipeline.funcs:
        assert REWRITES["separable_window"](pipeline, func.name) == pipeline


def test_large_windows_are_not_written_out():
    pipeline, _, _ = pipeline_of(lambda t: F.avg_pool2d(t, 9, 1), 1, 1, 30, 30)
    (name,) = Structure(pipeline).pools
    assert REWRITES["expand_window"](pipeline, name) == pipeline


def test_fast_math_stays_within_a_millionth():
    pipeline, module, arguments = pipeline_of(lambda t: torch.tanh(t) + torch.exp(t), 40, 50)
    changed = pipeline
    for func in pipeline.funcs:
        changed = REWRITES["fast_math"](changed, func.name)
    assert changed != pipeline
    (got,) = run_pipeline(changed, [], arguments, module)
    np.testing.assert_allclose(got, module(*arguments).numpy(), rtol=5e-6, atol=5e-6)


def test_a_sum_that_begins_elsewhere_is_not_cut_in_two():
    pipeline, *_ = pipeline_of(lambda t: F.avg_pool2d(t, 3, 1), 1, 1, 20, 20)
    (name,) = Structure(pipeline).pools
    begun = [
        f.model_copy(update={"value": ["const", 1.0, "float32"]}) if f.name == name else f for f in pipeline.funcs
    ]
    changed = pipeline.model_copy(update={"funcs": tuple(begun)})
    assert REWRITES["separable_window"](pipeline, name) != pipeline
    assert REWRITES["separable_window"](changed, name) == changed
