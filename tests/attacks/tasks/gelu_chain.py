"""Tanh-GELU written out as a chain of elementwise operators."""

import torch
import torch.nn as nn

rows = 128
columns = 2048


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
