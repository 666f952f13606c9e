"""3x3 convolution, padding 1, NCHW float32."""

import torch
import torch.nn as nn

batch = 2
channels = 32
filters = 64
height = 56
width = 56


class Model(nn.Module):
    """nn.Conv2d without bias."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(channels, filters, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [batch, channels, height, width] -> [batch, filters, height, width]"""
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return []
