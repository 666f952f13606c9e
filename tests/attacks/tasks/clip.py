"""Clipping to [-1.5, 1.5] over a length that no vector width divides."""

import torch
import torch.nn as nn

elements = 200003


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.clamp(x, -1.5, 1.5)


def get_inputs():
    return [torch.randn(elements)]


def get_init_inputs():
    return []
