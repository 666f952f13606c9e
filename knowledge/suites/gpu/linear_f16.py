"""A linear layer without bias in float16."""

import torch
import torch.nn as nn

rows = 2048
in_features = 2048
out_features = 2048


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=False).to(torch.float16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [rows, in_features] -> [rows, out_features]."""
        return self.linear(x)


def get_inputs():
    return [torch.randn(rows, in_features).to(torch.float16)]


def get_init_inputs():
    return [in_features, out_features]
