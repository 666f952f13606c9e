"""SwiGLU's element-wise half: silu(a) * b, bfloat16."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 16384
columns = 4096


class Model(nn.Module):
    """a * sigmoid(a) * b."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a, b: [rows, columns] bfloat16 -> [rows, columns] bfloat16"""
        return F.silu(a) * b


def get_inputs():
    return [torch.randn(rows, columns).bfloat16(), torch.randn(rows, columns).bfloat16()]


def get_init_inputs():
    return []
