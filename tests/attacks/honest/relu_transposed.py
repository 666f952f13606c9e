# expect: PASSED
# task: relu
# habit: works on the transpose and makes the result contiguous
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x.t().contiguous()).t().contiguous()
