"""Lower triangle of a square matrix."""

import torch
import torch.nn as nn

size = 768


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tril(x)


def get_inputs():
    return [torch.randn(size, size)]


def get_init_inputs():
    return []
