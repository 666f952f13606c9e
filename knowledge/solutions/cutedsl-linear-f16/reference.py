"""Linear layer without bias in float16: x @ w.T."""

import torch
import torch.nn as nn

rows = 512
depth = 1024
features = 1024


class Model(nn.Module):
    """Both operands lie with the summed axis fastest."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """x: [rows, depth], w: [features, depth] float16 -> [rows, features] float16"""
        return nn.functional.linear(x, w)


def get_inputs():
    return [torch.randn(rows, depth).half(), (torch.randn(features, depth) / depth**0.5).half()]


def get_init_inputs():
    return []
