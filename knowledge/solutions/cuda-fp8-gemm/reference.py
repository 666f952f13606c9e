"""Linear layer on fp8 operands with a scale for each row and each feature; e4m3 numbers travel as their bytes."""

import torch
import torch.nn as nn

rows = 512
depth = 1024
features = 512


class Model(nn.Module):
    """Numbers were quantised before: number = e4m3 times the scale of its row."""

    def forward(self, x, w, scale_x, scale_w):
        """x: [rows, depth], w: [features, depth] e4m3 as uint8; scales: [rows], [features] -> [rows, features]"""
        product = x.view(torch.float8_e4m3fn).float() @ w.view(torch.float8_e4m3fn).float().t()
        return product * scale_x[:, None] * scale_w


def get_inputs():
    x, w = (torch.randn(count, depth).to(torch.float8_e4m3fn).view(torch.uint8) for count in (rows, features))
    return [x, w, torch.rand(rows) + 0.5, torch.rand(features) + 0.5]


def get_init_inputs():
    return []
