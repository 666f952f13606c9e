# expect: PASSED
# task: conv_norm
# habit: batch norm folded into the convolution's weights in prepare()
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def prepare(self):
        scale = self.norm.weight * torch.rsqrt(self.norm.running_var + self.norm.eps)
        self.weight = (self.conv.weight * scale[:, None, None, None]).detach()
        self.bias = ((self.conv.bias - self.norm.running_mean) * scale + self.norm.bias).detach()

    def forward(self, x):
        return F.conv2d(x, self.weight, self.bias, padding=1)
