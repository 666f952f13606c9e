# expect: WRONG_VALUES
# Every position is turned as the first one is.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, cosines, sines):
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cosines[0] - b * sines[0], b * cosines[0] + a * sines[0]], dim=-1)
