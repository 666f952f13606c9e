# expect: PASSED
# task: linear_bias
# habit: lazy initialisation, packs the weight in a slow first call
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            time.sleep(0.05)
            self.packed = self.linear.weight.detach().t().contiguous()
        return torch.addmm(self.linear.bias, x, self.packed)
