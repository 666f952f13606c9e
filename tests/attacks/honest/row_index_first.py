# expect: PASSED
# task: row_index
# habit: index output by max with indices
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.max(x, dim=1).indices
