# expect: PASSED
# task: row_mean_fill
# habit: broadcasting made contiguous before it is returned
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.mean(x, dim=1, keepdim=True).expand(x.shape).contiguous()
