"""GELU, tanh form, as a chain of elementwise operators."""

import math

import torch
import torch.nn as nn

tokens = 512
hidden = 2048


class Model(nn.Module):
    """0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [tokens, hidden] -> [tokens, hidden]."""
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def get_inputs():
    return [torch.randn(tokens, hidden)]


def get_init_inputs():
    return []
