# expect: PASSED
# The mean square from torch's vector norm.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x, residual):
        total = x + residual
        norm = torch.linalg.vector_norm(total, dim=1, keepdim=True)
        scale = torch.rsqrt(norm * norm / total.shape[1] + self.eps)
        return total * scale * self.weight, total
