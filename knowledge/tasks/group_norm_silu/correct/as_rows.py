# expect: PASSED
# Groups as rows of a matrix; mean and variance in one step.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels, eps=1e-5)

    def forward(self, x):
        rows = x.reshape(x.shape[0] * self.norm.num_groups, -1)
        variance, mean = torch.var_mean(rows, dim=1, correction=0, keepdim=True)
        n = ((rows - mean) * torch.rsqrt(variance + 1e-5)).reshape(x.shape)
        n = n * self.norm.weight[:, None, None] + self.norm.bias[:, None, None]
        return n * torch.sigmoid(n)
