"""Operators under one name: what torch, its modules and the exported graph call differently, and what each weighs.

Owns the vocabulary by which tasks and solutions are compared. It knows no task and no solution.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SAME = {
    "addmm": "matmul", "mm": "matmul", "bmm": "matmul", "baddbmm": "matmul", "linear": "matmul", "gemm": "matmul",
    "einsum": "matmul", "dot": "matmul", "mv": "matmul",
    "conv1d": "convolution", "conv2d": "convolution", "conv3d": "convolution", "conv": "convolution",
    "conv_transpose1d": "conv_transpose", "conv_transpose2d": "conv_transpose", "conv_transpose3d": "conv_transpose",
    "max_pool2d_with_indices": "max_pool2d", "max_pool3d_with_indices": "max_pool3d",
    "batch_norm_legit": "batch_norm", "batch_norm_legit_no_training": "batch_norm",
    "batch_norm1d": "batch_norm", "batch_norm2d": "batch_norm", "batch_norm3d": "batch_norm",
    "instance_norm2d": "instance_norm", "instance_norm3d": "instance_norm",
    "scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention",
    "scaled_dot_product_attention_math": "scaled_dot_product_attention",
    "sdpa": "scaled_dot_product_attention",
    "cross_entropy_loss": "cross_entropy", "nll_loss_forward": "nll_loss", "mse": "mse_loss",
    "index_select": "index", "gather": "index", "embedding": "index", "take": "index",
    "lookup_table": "index", "lut": "index", "prefix_sum": "cumsum", "inclusive_scan": "cumsum",
    "linalg_vector_norm": "vector_norm", "norm": "vector_norm", "square": "pow", "clip": "clamp",
}  # fmt: skip
"""Written differently, the same work: canonical names of the exported graph or of torch -> one of them."""

_LAYOUT = frozenset(
    """view reshape permute transpose t expand unsqueeze squeeze select slice clone contiguous getitem detach alias
    to_copy to full full_like scalar_tensor assert_tensor_metadata zeros ones empty arange lift_fresh_copy
    split split_with_sizes unbind as_strided""".split()
)
_POINTWISE = frozenset(
    """add sub mul div neg abs exp expm1 log log1p sqrt rsqrt pow tanh sigmoid erf relu leaky_relu gelu silu elu
    hardtanh softplus where clamp clamp_min clamp_max maximum minimum eq ne lt le gt ge logical_not logical_and
    logical_or reciprocal floor ceil round sin cos mish hardsigmoid hardswish remainder fmod floor_divide
    bitwise_and bitwise_or bitwise_not""".split()
)
LAYOUT_WEIGHT = 0.05
"""Moving and naming data says little about what is computed."""
POINTWISE_WEIGHT = 0.35
"""Element by element: part of the work, rarely its shape."""


def canonical(name: str) -> str:
    """One name for an operator: ``nn.Conv2d``, ``aten.convolution.default`` and ``conv2d`` are ``convolution``."""
    parts = name.split(".")
    base = parts[1] if parts[0] == "aten" and len(parts) > 1 else parts[-1]
    base = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", base.strip()).lower()
    base = re.sub(r"[\s\-]+", "_", base).strip("_<>'")
    base = "getitem" if base.endswith("getitem") else base.removeprefix("native_")
    base = {"re_lu": "relu", "leaky_re_lu": "leaky_relu", "si_lu": "silu"}.get(base, base)
    return _SAME.get(base, base)


def weight(op: str) -> float:
    """How much a canonical operator says about the kind of work, 0 to 1."""
    if op in _LAYOUT:
        return LAYOUT_WEIGHT
    return POINTWISE_WEIGHT if op in _POINTWISE else 1.0


def names(ops: Iterable[str]) -> frozenset[str]:
    """Canonical names of many."""
    return frozenset(canonical(op) for op in ops)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Weighted Jaccard index of two sets of canonical operators, 0 to 1; 0 where both are empty."""
    total = sum(weight(op) for op in sorted(one | other))
    return sum(weight(op) for op in sorted(one & other)) / total if total else 0.0


def coverage(ops: frozenset[str], by: frozenset[str]) -> float:
    """Weighted share of ``ops`` that ``by`` names, 0 to 1; 0 where there are none."""
    total = sum(weight(op) for op in sorted(ops))
    return sum(weight(op) for op in sorted(ops & by)) / total if total else 0.0
