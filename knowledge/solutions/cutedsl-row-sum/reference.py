"""Sum of every row of a float32 matrix: x.sum(dim=1)."""

import torch
import torch.nn as nn

rows = 8192
columns = 4096


class Model(nn.Module):
    """A number a row."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [rows, columns] -> [rows]"""
        return x.sum(dim=1)


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
