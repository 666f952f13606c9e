# expect: WRONG_VALUES
# The other convention: neighbours are the parts of a complex number, not halves.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, cosines, sines):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cosines - b * sines, b * cosines + a * sines], dim=-1).flatten(-2)
