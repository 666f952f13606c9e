# expect: WRONG_VALUES
# The order of bias and ReLU is swapped.
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x):
        return torch.relu(F.conv2d(x, self.conv.weight, padding=1)) + self.conv.bias.view(1, -1, 1, 1)
