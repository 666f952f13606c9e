# expect: PASSED
# task: gelu_chain
# habit: one library operator, where the policy allows anything
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        return F.gelu(x, approximate="tanh")
