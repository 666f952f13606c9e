"""Rotary position embedding, rotate-half form, head dimension 64, bfloat16."""

import torch
import torch.nn as nn

batch = 4
heads = 16
tokens = 4096


class Model(nn.Module):
    """Turns pairs (x[i], x[i + 32]) by an angle that grows with the position."""

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        """x: [batch, heads, tokens, 64]; cos, sin: [tokens, 32] bfloat16 -> as x"""
        return torch.cat((x[..., :32] * cos - x[..., 32:] * sin, x[..., 32:] * cos + x[..., :32] * sin), dim=-1)


def get_inputs():
    angle = torch.arange(tokens)[:, None] * 10000.0 ** (-torch.arange(32) / 32)
    return [torch.randn(batch, heads, tokens, 64).bfloat16(), angle.cos().bfloat16(), angle.sin().bfloat16()]


def get_init_inputs():
    return []
