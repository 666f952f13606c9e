# expect: WRONG_VALUES
# The erf form is another function: it differs by up to 5e-4.
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        return F.gelu(x)
