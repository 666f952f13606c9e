"""Linear layer in float16, without bias."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 512
depth = 1024
features = 1024


class Model(nn.Module):
    """x @ w.T, weights given."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """x: [rows, depth], w: [features, depth] float16 -> [rows, features] float16"""
        return F.linear(x, w)


def get_inputs():
    w = torch.randn(features, depth) / depth**0.5
    return [torch.randn(rows, depth).half(), w.half()]


def get_init_inputs():
    return []
