"""x * 1.7 + 0.3 over a length that no vector width divides."""

import torch
import torch.nn as nn

elements = 200003


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 1.7 + 0.3


def get_inputs():
    return [torch.randn(elements)]


def get_init_inputs():
    return []
