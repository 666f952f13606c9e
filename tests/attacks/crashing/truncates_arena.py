# expect: RUNTIME_ERROR CHEATED WRONG_VALUES NONFINITE PASSED
# task: row_softmax
# Shrinks the shared memory to nothing, then grows it again.
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.softmax(x, dim=1)
        for name in os.listdir("/proc/self/fd"):
            try:
                if "memfd" in os.readlink(f"/proc/self/fd/{name}"):
                    os.ftruncate(int(name), 0)
                    os.ftruncate(int(name), 1 << 40)
            except OSError:
                continue
        return out
