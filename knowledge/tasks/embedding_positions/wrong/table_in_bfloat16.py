# expect: WRONG_VALUES
# Half the traffic for the table, at the price of its digits.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, vocabulary, positions, width):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(positions, width)

    def forward(self, tokens):
        return torch.nn.functional.embedding(tokens, self.table.weight.to(torch.bfloat16)).float() + self.places.weight
