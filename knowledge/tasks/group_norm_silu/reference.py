"""Group normalisation followed by SiLU."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
groups = 8
group_channels = 8
height = 64
width = 64


class Model(nn.Module):
    """n * sigmoid(n) with n the group-normalised input, scaled and shifted channel by channel."""

    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [batch, channels, height, width] -> [batch, channels, height, width]."""
        return F.silu(self.norm(x))


def get_inputs():
    return [torch.randn(batch, groups * group_channels, height, width)]


def get_init_inputs():
    return [groups, groups * group_channels]
