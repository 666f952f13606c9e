"""3x3 max pooling, stride 2, padding 1."""

import torch
import torch.nn as nn

batch = 1
channels = 64
height = 112
width = 112


class Model(nn.Module):
    """Largest value of each 3x3 window; what lies outside the image never wins."""

    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [batch, channels, height, width] -> [batch, channels, (height + 1) // 2, (width + 1) // 2]."""
        return self.pool(x)


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return []
