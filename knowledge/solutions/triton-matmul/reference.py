"""Product of float16 matrices."""

import torch
import torch.nn as nn

m = 512
k = 512
n = 512


class Model(nn.Module):
    """a @ b with float32 sums."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a: [m, k], b: [k, n] float16 -> [m, n] float16"""
        return a @ b


def get_inputs():
    return [torch.randn(m, k).half(), (torch.randn(k, n) / k**0.5).half()]


def get_init_inputs():
    return []
