"""Residual addition followed by RMS normalisation; both results are wanted."""

import torch
import torch.nn as nn

tokens = 256
hidden = 2048
eps = 1e-6


class Model(nn.Module):
    """total = x + residual; normalised = total / sqrt(mean(total^2) + eps) * weight."""

    def __init__(self, hidden: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x, residual: [tokens, hidden] -> normalised, total: [tokens, hidden] each."""
        total = x + residual
        mean_square = total.pow(2).mean(dim=1, keepdim=True)
        return total * torch.rsqrt(mean_square + self.eps) * self.weight, total


def get_inputs():
    return [torch.randn(tokens, hidden), torch.randn(tokens, hidden)]


def get_init_inputs():
    return [hidden, eps]
