"""Residual add and layer norm with weight and bias."""

import torch
import torch.nn as nn

rows = 4096
columns = 1024


class Model(nn.Module):
    """LayerNorm(x + residual)."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(columns)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """x, residual: [rows, columns] -> [rows, columns]"""
        return self.norm(x + residual)


def get_inputs():
    return [torch.randn(rows, columns), torch.randn(rows, columns)]


def get_init_inputs():
    return []
