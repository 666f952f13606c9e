"""The longest sum of a module is what a plain loop of its kernel would add up, and nothing else counts."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from kernelwright.toolexec.workers.sums import SumLog  # noqa: E402

X = torch.ones(4, 6, 10, 12)
SUMS: dict[str, tuple[Any, int]] = {
    "elementwise": (lambda: torch.relu(X) + X * 2, 1),
    "broadcast": (lambda: X + torch.ones(12), 1),
    "gather": (lambda: torch.ones(50, 3)[torch.tensor([1])], 1),
    "slice": (lambda: X[:1, :1].clone(), 1),
    "maximum": (lambda: X.amax((2, 3)), 1),
    "sum of all": (lambda: X.sum(), 4 * 6 * 10 * 12),
    "sum of one axis": (lambda: X.sum(2), 10),
    "mean of two": (lambda: X.mean((2, 3)), 120),
    "variance": (lambda: X.var((1, 2)), 60),
    "norm": (lambda: torch.linalg.vector_norm(X, dim=3), 12),
    "softmax of the first axis": (lambda: torch.softmax(X, 0), 4),
    "log softmax": (lambda: torch.log_softmax(X, -1), 12),
    "running sum": (lambda: torch.cumsum(X, 2), 10),
    "layer norm": (lambda: functional.layer_norm(X, (10, 12)), 120),
    "group norm": (lambda: functional.group_norm(X, 2), 360),
    "batch norm in training": (lambda: nn.BatchNorm2d(6)(X), 480),
    "batch norm in eval": (lambda: nn.BatchNorm2d(6).eval()(X), 1),
    "product": (lambda: torch.ones(3, 70) @ torch.ones(70, 5), 70),
    "products of a batch": (lambda: torch.ones(2, 3, 70) @ torch.ones(2, 70, 5), 70),
    "linear": (lambda: nn.Linear(70, 5)(torch.ones(3, 70)), 70),
    "convolution": (lambda: nn.Conv2d(6, 6, 3)(X), 54),
    "depthwise": (lambda: nn.Conv2d(6, 6, 3, groups=6)(X), 54),
    "attention": (lambda: functional.scaled_dot_product_attention(*[torch.ones(1, 2, 33, 8)] * 3), 33),
    "loss": (lambda: functional.mse_loss(X, X * 2), 2880),
    "pooling": (lambda: functional.avg_pool2d(X, 2), 4),
}


@pytest.mark.parametrize("name", SUMS)
def test_the_longest_sum(name: str) -> None:
    call, wanted = SUMS[name]
    with torch.no_grad(), SumLog() as log:
        call()
    assert log.longest == wanted
