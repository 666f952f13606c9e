"""Product of two upper triangular matrices."""

import torch
import torch.nn as nn

size = 256


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.triu(a @ b)


def get_inputs():
    return [torch.triu(torch.randn(size, size)), torch.triu(torch.randn(size, size))]


def get_init_inputs():
    return []
