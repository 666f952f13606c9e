"""Depthwise 3x3 convolution, padding 1."""

import torch
import torch.nn as nn

batch = 8
channels = 64
height = 112
width = 112


class Model(nn.Module):
    """Each channel with a 3x3 filter of its own."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [batch, channels, height, width] -> the same"""
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return []
