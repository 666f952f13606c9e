"""Causal attention forward in float16, head dimension 64."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 1
heads = 8
tokens = 512


class Model(nn.Module):
    """A query sees itself and what came before."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """q, k, v: [batch, heads, tokens, 64] float16 -> the same"""
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs():
    return [(torch.randn(batch, heads, tokens, 64) * scale).half() for scale in (2.0, 1.0, 1.0)]


def get_init_inputs():
    return []
