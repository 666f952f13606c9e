"""Layer norm along rows of a bfloat16 matrix, with weight and bias."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 16384
columns = 2048


class Model(nn.Module):
    """(x - mean) * rsqrt(variance + 1e-5) * weight + bias."""

    def forward(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """x: [rows, columns], weight, bias: [columns] bfloat16 -> [rows, columns] bfloat16"""
        return F.layer_norm(x, (columns,), weight, bias)


def get_inputs():
    return [torch.randn(rows, columns).bfloat16(), torch.randn(columns).bfloat16(), torch.randn(columns).bfloat16()]


def get_init_inputs():
    return []
