# expect: RUNTIME_ERROR PASSED CHEATED
# task: row_softmax
# Leaves twenty thousand files; otherwise right.
import contextlib
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        with contextlib.suppress(OSError):
            for i in range(20000):
                os.close(os.open(os.path.join(os.environ.get("TMPDIR", "."), f"f{i}"), os.O_CREAT | os.O_WRONLY))

    def forward(self, x):
        return torch.softmax(x, dim=1)
