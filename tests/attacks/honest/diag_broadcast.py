# expect: PASSED
# task: diag_matmul
# habit: algebra removes almost all of the reference's operations
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a[:, None] * b
