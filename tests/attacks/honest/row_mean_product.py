# expect: PASSED
# task: row_mean
# habit: a reduction as a product with a vector that is cached by shape
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.vectors = {}

    def forward(self, x):
        n = x.shape[1]
        if n not in self.vectors:
            self.vectors[n] = torch.full((n,), 1.0 / n, dtype=x.dtype)
        return torch.mv(x, self.vectors[n])
