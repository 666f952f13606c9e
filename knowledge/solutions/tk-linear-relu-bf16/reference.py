"""Product of bfloat16 matrices with bias and ReLU."""

import torch
import torch.nn as nn
import torch.nn.functional as F

m = 4096
k = 4096
n = 4096


class Model(nn.Module):
    """relu(a @ b + bias)"""

    def forward(self, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """a: [m, k], b: [k, n], bias: [n] bfloat16 -> [m, n] bfloat16"""
        return F.relu(torch.addmm(bias, a, b))


def get_inputs():
    return [torch.randn(m, k).bfloat16(), (torch.randn(k, n) / k**0.5).bfloat16(), torch.randn(n).bfloat16()]


def get_init_inputs():
    return []
