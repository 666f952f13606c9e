# expect: PASSED
# task: row_softmax
# habit: exp(x - logsumexp(x)) instead of a quotient
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.exp(x - torch.logsumexp(x, dim=1, keepdim=True))
