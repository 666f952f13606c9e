"""3x3 depthwise convolution, padding 1, with bias."""

import torch
import torch.nn as nn

batch = 1
channels = 96
height = 112
width = 112


class Model(nn.Module):
    """One 3x3 filter and one bias for every channel."""

    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [batch, channels, height, width] -> the same shape."""
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return [channels]
