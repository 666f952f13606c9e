# expect: PASSED
# Variance and mean in one step, then scale and shift.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(hidden, eps=1e-5)

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + 1e-5) * self.norm.weight + self.norm.bias
