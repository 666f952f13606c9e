# expect: PASSED
# task: linear_bias
# habit: weight packing in prepare()
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.packed = None

    def prepare(self):
        self.packed = self.linear.weight.detach().t().contiguous()

    def forward(self, x):
        return torch.addmm(self.linear.bias, x, self.packed)
