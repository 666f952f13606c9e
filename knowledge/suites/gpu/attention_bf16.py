"""Attention forward, head dimension 64, in bfloat16."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
heads = 16
positions = 1024
head_dim = 64


class Model(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """All: [batch, heads, positions, head_dim]."""
        return F.scaled_dot_product_attention(query, key, value)


def get_inputs():
    return [torch.randn(batch, heads, positions, head_dim).to(torch.bfloat16) for _ in range(3)]


def get_init_inputs():
    return []
