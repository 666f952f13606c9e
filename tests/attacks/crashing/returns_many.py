# expect: WRONG_SHAPE RUNTIME_ERROR CHEATED
# task: row_softmax
# Returns ten thousand tensors.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return [torch.softmax(x[:1], dim=1) for _ in range(10000)]
