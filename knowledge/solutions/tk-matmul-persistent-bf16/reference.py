"""Matrix product of bfloat16 matrices, many tiles."""

import torch
import torch.nn as nn

m = 8192
k = 1024
n = 8192


class Model(nn.Module):
    """a @ b"""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a: [m, k], b: [k, n] bfloat16 -> [m, n] bfloat16"""
        return a @ b


def get_inputs():
    return [torch.randn(m, k).bfloat16(), (torch.randn(k, n) / k**0.5).bfloat16()]


def get_init_inputs():
    return []
