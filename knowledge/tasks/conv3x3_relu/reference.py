"""relu(conv3x3(x) + bias), padding 1."""

import torch
import torch.nn as nn

batch = 1
in_channels = 32
out_channels = 64
height = 56
width = 56


class Model(nn.Module):
    """A 3x3 convolution with bias, then ReLU."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [batch, in_channels, height, width] -> [batch, out_channels, height, width]."""
        return torch.relu(self.conv(x))


def get_inputs():
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels]
