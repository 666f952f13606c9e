# expect: PASSED
# task: row_softmax
# habit: own scratch kept between calls, keyed by shape; the result is a fresh tensor
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scratch = {}

    def forward(self, x):
        key = (tuple(x.shape), x.dtype)
        if key not in self.scratch:
            self.scratch[key] = torch.empty_like(x)
        work = self.scratch[key]
        torch.sub(x, x.amax(dim=1, keepdim=True), out=work)
        work.exp_()
        return work / work.sum(dim=1, keepdim=True)
