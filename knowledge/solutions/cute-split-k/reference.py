"""Product of a few rows with a deep matrix, float16 with a float32 result."""

import torch
import torch.nn as nn

rows = 64
depth = 16384
features = 256


class Model(nn.Module):
    """x @ w.T in float32."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """x: [rows, depth], w: [features, depth] float16 -> [rows, features] float32"""
        return x.float() @ w.float().t()


def get_inputs():
    return [torch.randn(rows, depth).half(), (torch.randn(features, depth) / depth**0.5).half()]


def get_init_inputs():
    return []
