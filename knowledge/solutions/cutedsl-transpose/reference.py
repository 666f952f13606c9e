"""Transpose of a float32 matrix: x.t().contiguous()."""

import torch
import torch.nn as nn

rows = 4096
columns = 4096


class Model(nn.Module):
    """Rows become columns."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [rows, columns] -> [columns, rows]"""
        return x.t().contiguous()


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
