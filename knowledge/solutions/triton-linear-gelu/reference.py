"""Linear layer and GELU in float16, the first half of a transformer's feed-forward block."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 512
depth = 256
features = 1024


class Model(nn.Module):
    """gelu(x @ w.T + bias), tanh form."""

    def forward(self, x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """x: [rows, depth], w: [features, depth], bias: [features] float16 -> [rows, features] float16"""
        return F.gelu(F.linear(x, w, bias), approximate="tanh")


def get_inputs():
    w = torch.randn(features, depth) / depth**0.5
    return [torch.randn(rows, depth).half(), w.half(), torch.randn(features).half()]


def get_init_inputs():
    return []
