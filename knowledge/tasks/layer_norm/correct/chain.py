# expect: PASSED
# Centred first, so that the variance does not cancel.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(hidden, eps=1e-5)

    def forward(self, x):
        centred = x - x.mean(dim=1, keepdim=True)
        variance = (centred * centred).mean(dim=1, keepdim=True)
        return centred * torch.rsqrt(variance + 1e-5) * self.norm.weight + self.norm.bias
