"""A @ B.T; the fixture happens to give the same matrix twice."""

import torch
import torch.nn as nn

size = 256


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b.T)


def get_inputs():
    a = torch.randn(size, size)
    return [a, a.clone()]


def get_init_inputs():
    return []
