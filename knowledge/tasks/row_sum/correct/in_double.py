# expect: PASSED
# Sums in float64 and rounds once.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.sum(x, dim=1, dtype=torch.float64).to(torch.float32)
