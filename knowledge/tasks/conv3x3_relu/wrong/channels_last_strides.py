# expect: WRONG_VALUES
# Computes right, then hands the channels-last bytes out under the channels-first shape.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x):
        y = torch.relu(self.conv(x))
        return y.permute(0, 2, 3, 1).contiguous().view(y.shape)
