"""Scaled-dot-product attention, no mask."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 1
heads = 8
positions = 256
head_dim = 64


class Model(nn.Module):
    """softmax(query @ key.T / sqrt(head_dim)) @ value, head by head."""

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """query, key, value: [batch, heads, positions, head_dim] -> the same shape."""
        return F.scaled_dot_product_attention(query, key, value)


def get_inputs():
    shape = (batch, heads, positions, head_dim)
    return [torch.randn(shape), torch.randn(shape), torch.randn(shape)]


def get_init_inputs():
    return []
