"""relu(x @ weight.T + bias)."""

import torch
import torch.nn as nn

tokens = 768
in_features = 768
out_features = 768


class Model(nn.Module):
    """A linear layer and ReLU."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [tokens, in_features] -> [tokens, out_features]."""
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(tokens, in_features)]


def get_init_inputs():
    return [in_features, out_features]
