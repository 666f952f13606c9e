"""Operators under one name, and how sets of them compare."""

import pytest

from kernelwright.memory.operators import canonical, coverage, names, overlap


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("nn.Conv2d", "convolution"),
        ("aten.convolution.default", "convolution"),
        ("F.avg_pool2d", "avg_pool2d"),
        ("AvgPool2d", "avg_pool2d"),
        ("aten._softmax.default", "softmax"),
        ("native_layer_norm", "layer_norm"),
        ("nn.LayerNorm", "layer_norm"),
        ("_native_batch_norm_legit_no_training", "batch_norm"),
        ("BatchNorm2d", "batch_norm"),
        ("ReLU", "relu"),
        ("LeakyReLU", "leaky_relu"),
        ("SiLU", "silu"),
        ("aten.addmm.default", "matmul"),
        ("nn.Linear", "matmul"),
        ("lookup table", "index"),
        ("<built-in function getitem>", "getitem"),
        ("CrossEntropyLoss", "cross_entropy"),
        ("aten.max_pool2d_with_indices.default", "max_pool2d"),
    ],
)
def test_one_name(spelled: str, expected: str) -> None:
    assert canonical(spelled) == expected


def test_overlap_weighs_what_says_something() -> None:
    task = names(["aten.view.default", "aten.addmm.default", "aten.relu.default"])
    assert overlap(task, names(["linear", "relu"])) > 0.9
    assert overlap(task, names(["relu"])) < 0.3
    assert overlap(task, names(["softmax"])) == 0
    assert overlap(frozenset(), frozenset()) == 0


def test_coverage_does_not_mind_what_else_is_named() -> None:
    assert coverage(names(["softmax"]), names(["softmax", "exp", "box filter"])) == 1.0
    assert coverage(names(["softmax", "matmul"]), names(["softmax"])) == 0.5
