# expect: RUNTIME_ERROR CHEATED WRONG_VALUES PASSED TIMEOUT
# task: row_softmax
# Closes the descriptor of the shared memory; otherwise right.
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for name in os.listdir("/proc/self/fd"):
            try:
                if "memfd" in os.readlink(f"/proc/self/fd/{name}"):
                    os.close(int(name))
            except OSError:
                continue
        return torch.softmax(x, dim=1)
