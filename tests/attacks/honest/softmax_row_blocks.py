# expect: PASSED
# task: row_softmax
# habit: functools.lru_cache on a pure helper of the shape
import functools

import torch
import torch.nn as nn


@functools.cache
def row_blocks(rows, columns):
    step = max(1, 32768 // columns)
    return tuple((at, min(at + step, rows)) for at in range(0, rows, step))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        for low, high in row_blocks(*x.shape):
            torch.softmax(x[low:high], dim=1, out=out[low:high])
        return out
