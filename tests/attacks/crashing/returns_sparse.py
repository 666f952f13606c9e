# expect: RUNTIME_ERROR CHEATED WRONG_SHAPE
# task: row_softmax
# Returns a sparse tensor.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1).to_sparse()
