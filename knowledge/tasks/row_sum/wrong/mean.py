# expect: WRONG_VALUES
# The mean instead of the sum.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.mean(x, dim=1)
