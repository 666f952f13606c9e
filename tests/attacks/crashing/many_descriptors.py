# expect: RUNTIME_ERROR PASSED CHEATED
# task: row_softmax
# Opens files until it is not allowed any more, and keeps them.
import torch
import torch.nn as nn

kept = []


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            for _ in range(100000):
                kept.append(open("/dev/null"))  # noqa: SIM115
        except OSError:
            pass

    def forward(self, x):
        return torch.softmax(x, dim=1)
