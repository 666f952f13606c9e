# expect: WRONG_VALUES
# Right only while weight is 1 and bias is 0.
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(hidden, eps=1e-5)

    def forward(self, x):
        return F.layer_norm(x, (x.shape[1],), eps=1e-5)
