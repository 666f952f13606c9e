# expect: PASSED
# The maximum is separable: rows first, then columns.
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        rows = F.max_pool2d(x, kernel_size=(1, 3), stride=(1, 2), padding=(0, 1))
        return F.max_pool2d(rows, kernel_size=(3, 1), stride=(2, 1), padding=(1, 0))
