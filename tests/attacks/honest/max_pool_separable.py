# expect: PASSED
# task: max_pool2d channels=8 height=56 width=56
# habit: two one-dimensional passes instead of a window
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        rows = F.max_pool2d(x, (1, 3), stride=(1, 2), padding=(0, 1))
        return F.max_pool2d(rows, (3, 1), stride=(2, 1), padding=(1, 0))
