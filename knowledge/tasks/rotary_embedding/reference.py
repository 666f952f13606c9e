"""Rotary position embedding, halves as the parts of complex numbers."""

import torch
import torch.nn as nn

batch = 2
heads = 8
positions = 1024
half = 32


class Model(nn.Module):
    """(a + ib) * (cos + i sin) with a the first and b the second half of the last axis."""

    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        """x: [batch, heads, positions, 2 * half], cosines and sines: [positions, half] -> shape of x."""
        half = cosines.shape[1]
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cosines - b * sines, b * cosines + a * sines], dim=-1)


def get_inputs():
    rates = 10000.0 ** (-torch.arange(half) / half)
    angles = torch.arange(positions)[:, None] * rates
    return [torch.randn(batch, heads, positions, 2 * half), torch.cos(angles), torch.sin(angles)]


def get_init_inputs():
    return []
