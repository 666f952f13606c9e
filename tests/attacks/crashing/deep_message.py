# expect: CHEATED RUNTIME_ERROR TIMEOUT
# task: row_softmax
# Sends deeply nested JSON.
import os
import stat

import torch
import torch.nn as nn


def channels():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                yield fd
        except OSError:
            continue


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.softmax(x, dim=1)
        for fd in channels():
            os.write(fd, b"[" * 1000000 + b"\n")
        return out
