"""Rotary position embedding, rotate-half form, float32."""

import torch
import torch.nn as nn

batch = 4
heads = 16
tokens = 1024
half = 32


class Model(nn.Module):
    """Turns pairs (x[i], x[i + half]) by an angle that grows with the position."""

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        """x: [batch, heads, tokens, 2 * half]; cos, sin: [tokens, half] -> as x"""
        a, b = x[..., :half], x[..., half:]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def get_inputs():
    angle = torch.arange(tokens)[:, None] * 10000.0 ** (-torch.arange(half) / half)
    return [torch.randn(batch, heads, tokens, 2 * half), angle.cos(), angle.sin()]


def get_init_inputs():
    return []
