"""Layer normalisation in bfloat16."""

import torch
import torch.nn as nn

tokens = 16384
hidden = 1024


class Model(nn.Module):
    def __init__(self, hidden: int):
        super().__init__()
        self.norm = nn.LayerNorm(hidden).to(torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [tokens, hidden] -> [tokens, hidden]."""
        return self.norm(x)


def get_inputs():
    return [torch.randn(tokens, hidden).to(torch.bfloat16)]


def get_init_inputs():
    return [hidden]
