"""Running sum of one long int32 vector."""

import torch
import torch.nn as nn

elements = 1 << 22


class Model(nn.Module):
    """Inclusive scan; sums wrap around as int32 does."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [elements] int32 -> [elements] int32"""
        return torch.cumsum(x, 0, dtype=torch.int32)


def get_inputs():
    return [torch.randint(-100, 100, (elements,), dtype=torch.int32)]


def get_init_inputs():
    return []
