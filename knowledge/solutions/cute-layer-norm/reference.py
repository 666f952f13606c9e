"""Layer norm along rows with weight and bias, float32."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4096
columns = 1024


class Model(nn.Module):
    """(x - mean) * rsqrt(variance + 1e-5) * weight + bias."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(columns))
        self.bias = nn.Parameter(torch.zeros(columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [rows, columns] -> [rows, columns]"""
        return F.layer_norm(x, (columns,), self.weight, self.bias, eps=1e-5)


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
