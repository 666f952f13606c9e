"""Matrix product of float32 matrices."""

import torch
import torch.nn as nn

m = 1024
k = 1024
n = 1024


class Model(nn.Module):
    """a @ b"""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a: [m, k], b: [k, n] -> [m, n]"""
        return a @ b


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, n)]


def get_init_inputs():
    return []
