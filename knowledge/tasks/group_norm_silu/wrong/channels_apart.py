# expect: WRONG_VALUES
# Statistics a channel: instance normalisation.
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels, eps=1e-5)

    def forward(self, x):
        return F.silu(F.group_norm(x, x.shape[1], self.norm.weight, self.norm.bias, 1e-5))
