"""The product of two matrices in bfloat16."""

import torch
import torch.nn as nn

rows = 2048
inner = 2048
columns = 2048


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a: [rows, inner], b: [inner, columns] -> [rows, columns]."""
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(rows, inner).to(torch.bfloat16), torch.randn(inner, columns).to(torch.bfloat16)]


def get_init_inputs():
    return []
