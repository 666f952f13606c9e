# expect: WRONG_VALUES
# A true convolution: the filter is flipped.
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels)

    def forward(self, x):
        return F.conv2d(x, self.conv.weight.flip(2, 3), self.conv.bias, padding=1, groups=x.shape[1])
