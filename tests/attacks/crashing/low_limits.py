# expect: RUNTIME_ERROR OUT_OF_MEMORY CHEATED PASSED
# task: row_softmax
# Forbids itself memory and files, in the middle.
import resource

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.softmax(x, dim=1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
        return out
