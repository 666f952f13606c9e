# expect: WRONG_SHAPE
# All sequences in one list of rows.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, vocabulary, positions, width):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(positions, width)

    def forward(self, tokens):
        return (self.table(tokens) + self.places.weight).flatten(0, 1)
