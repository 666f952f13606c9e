# expect: TIMEOUT RUNTIME_ERROR CHEATED
# task: row_softmax
# The result is read for ever.
import torch
import torch.nn as nn


def endless(*args, **kwargs):
    while True:
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        torch.Tensor.detach = torch.Tensor.contiguous = endless
        return torch.softmax(x, dim=1)
