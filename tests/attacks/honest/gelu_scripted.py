# expect: PASSED
# task: gelu_chain
# habit: compiled by torch.jit in the constructor
import warnings

import torch
import torch.nn as nn


def gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.kernel = torch.jit.trace(gelu, torch.zeros(2, 2))

    def forward(self, x):
        return self.kernel(x)
