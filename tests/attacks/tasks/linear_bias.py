"""A linear layer."""

import torch
import torch.nn as nn

tokens = 192
width = 192


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


def get_inputs():
    return [torch.randn(tokens, width)]


def get_init_inputs():
    return [width]
