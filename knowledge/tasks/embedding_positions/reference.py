"""Token embedding plus learned position embedding."""

import torch
import torch.nn as nn

batch = 16
positions = 512
vocabulary = 2048
width = 256


class Model(nn.Module):
    """table[token] + place[position]."""

    def __init__(self, vocabulary: int, positions: int, width: int):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(positions, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens: [batch, positions] int64 in 0..vocabulary-1 -> [batch, positions, width]."""
        return self.table(tokens) + self.places.weight


def get_inputs():
    return [torch.randint(0, vocabulary, (batch, positions))]


def get_init_inputs():
    return [vocabulary, positions, width]
