"""How many terms the longest sum of a reference has, read off the operators of one run.

Runs in the reference worker only. The judge widens the tolerance of long sums by it (numerics.for_sums).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

Shape = Sequence[int]
PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "vdot": 0, "addmm": 1, "baddbmm": 1, "addbmm": 1, "addmv": 1}
"""Matrix products -> which operand's last axis is summed over."""
ALONG = ("_softmax", "_log_softmax", "_safe_softmax", "cumsum", "logcumsumexp")
"""Their results are as large as what they sum along their second argument."""
ADDING = (
    "sum", "mean", "nansum", "prod", "var", "std", "var_mean", "std_mean", "logsumexp", "norm", "trace",
    "linalg_vector_norm", "native_layer_norm", "_fused_rms_norm", "native_group_norm", "native_batch_norm",
    "_native_batch_norm_legit", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d",
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "nll_loss_forward", "nll_loss2d_forward",
    "binary_cross_entropy", "soft_margin_loss", "multi_margin_loss", "_cdist_forward", "_euclidean_dist", "renorm",
)  # fmt: skip
"""One element of their smallest result is made of an equal share of their largest operand."""


def terms(name: str, operands: Sequence[Shape], results: Sequence[Shape], dim: int = 0) -> int:
    """Terms of the longest sum in one call of an operator; 1 where it sums nothing that is known.

    Args:
        name: its base name, as ``addmm``.
        operands: shapes of its tensors, in order.
        results: shapes of what it returns.
        dim: the axis of an operator of ALONG.
    """
    if not operands:
        return 1
    if name in PRODUCTS and len(operands) > PRODUCTS[name]:
        return int(operands[PRODUCTS[name]][-1])
    if "convolution" in name and len(operands) > 1:
        weight = operands[1]  # transposed ones sum over the first axis, so the longer of both is taken
        return int(math.prod(weight) // max(min(weight[:2]), 1))
    if "scaled_dot_product" in name and len(operands) > 1:
        return int(max(operands[1][-2], operands[0][-1]))
    if name in ALONG and operands[0]:
        return int(operands[0][dim])
    sizes = [math.prod(s) for s in results if math.prod(s)]
    return max(max(math.prod(s) for s in operands) // min(sizes), 1) if name in ADDING and sizes else 1


class SumLog(TorchDispatchMode):
    """Remembers the longest sum among all operators that torch dispatches while it is on."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        operands, results = (
            [tuple(t.shape) for t in pytree.tree_leaves(v) if isinstance(t, torch.Tensor)]
            for v in ((args, kwargs or {}), result)
        )
        dim = args[1] if len(args) > 1 and isinstance(args[1], int) else 0
        self.longest = max(self.longest, terms(func._schema.name.rpartition("::")[2], operands, results, dim))
        return result
