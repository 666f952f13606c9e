# expect: WRONG_VALUES
# task: linear_bias
# explains: prepare
# habit: packs in the constructor, before weights are loaded: wrong, but no cheat, and the author is told why
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.packed = self.linear.weight.detach().t().contiguous()

    def forward(self, x):
        return torch.addmm(self.linear.bias, x, self.packed)
