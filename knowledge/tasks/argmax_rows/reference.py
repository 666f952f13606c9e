"""The index of the largest element of every row."""

import torch
import torch.nn as nn

rows = 64
classes = 32000


class Model(nn.Module):
    """argmax over the last axis; of equal elements any may be named."""

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        """scores: [rows, classes] -> [rows] int64."""
        return torch.argmax(scores, dim=1)


def get_inputs():
    return [torch.round(8.0 * torch.randn(rows, classes)) / 8.0]


def get_init_inputs():
    return []
