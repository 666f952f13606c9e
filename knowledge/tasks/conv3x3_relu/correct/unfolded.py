# expect: PASSED
# im2col and one matrix product.
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x):
        batch, _, height, width = x.shape
        columns = F.unfold(x, kernel_size=3, padding=1)
        product = self.conv.weight.flatten(1) @ columns + self.conv.bias[:, None]
        return torch.relu(product).view(batch, -1, height, width)
