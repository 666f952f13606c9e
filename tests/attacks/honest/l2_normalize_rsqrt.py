# expect: PASSED
# task: l2_normalize rows=256 columns=256
# habit: a reciprocal square root and a product instead of a quotient
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        return x * torch.reciprocal(length.clamp_min(self.eps))
