# expect: RUNTIME_ERROR OUT_OF_MEMORY PASSED CHEATED
# task: row_softmax
# Writes up to 2 GB into its folder.
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        with open(os.path.join(os.environ.get("TMPDIR", "."), "big"), "wb") as file:
            for _ in range(32):
                file.write(bytes(64 << 20))
        return torch.softmax(x, dim=1)
