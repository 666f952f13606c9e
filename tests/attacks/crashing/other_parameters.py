# expect: RUNTIME_ERROR
# task: row_softmax
# Has parameters of its own.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return torch.softmax(x, dim=1)
