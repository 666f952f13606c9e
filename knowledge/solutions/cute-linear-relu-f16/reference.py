"""Linear layer with bias and ReLU in float16."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 512
depth = 1024
features = 1024


class Model(nn.Module):
    """relu(x @ w.T + bias), weights given."""

    def forward(self, x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """x: [rows, depth], w: [features, depth], bias: [features] float16 -> [rows, features] float16"""
        return F.relu(F.linear(x, w, bias))


def get_inputs():
    w = torch.randn(features, depth) / depth**0.5
    return [torch.randn(rows, depth).half(), w.half(), torch.randn(features).half()]


def get_init_inputs():
    return []
