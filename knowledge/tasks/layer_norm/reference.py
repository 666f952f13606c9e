"""Layer normalisation over the last axis."""

import torch
import torch.nn as nn

tokens = 512
hidden = 1024


class Model(nn.Module):
    """(x - mean) / sqrt(variance + 1e-5) * weight + bias, statistics over the hidden axis."""

    def __init__(self, hidden: int):
        super().__init__()
        self.norm = nn.LayerNorm(hidden, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [tokens, hidden] -> [tokens, hidden]."""
        return self.norm(x)


def get_inputs():
    return [torch.randn(tokens, hidden)]


def get_init_inputs():
    return [hidden]
