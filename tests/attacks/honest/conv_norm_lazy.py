# expect: PASSED
# task: conv_norm
# habit: the same folding, done at the first call, in float64
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.folded = None

    def forward(self, x):
        if self.folded is None:
            scale = self.norm.weight.double() * torch.rsqrt(self.norm.running_var.double() + self.norm.eps)
            weight = (self.conv.weight.double() * scale[:, None, None, None]).float()
            bias = (self.conv.bias.double() - self.norm.running_mean.double()) * scale + self.norm.bias.double()
            self.folded = (weight, bias.float())
        return F.conv2d(x, *self.folded, padding=1)
