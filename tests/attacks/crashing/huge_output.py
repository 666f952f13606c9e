# expect: WRONG_SHAPE OUT_OF_MEMORY RUNTIME_ERROR
# task: row_softmax
# Returns two gigabytes.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ones(1 << 29)
