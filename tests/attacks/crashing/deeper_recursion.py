# expect: RUNTIME_ERROR OUT_OF_MEMORY TIMEOUT
# task: row_softmax
# The same without Python's limit, through C frames.
import sys

import torch.nn as nn

sys.setrecursionlimit(2**31 - 1)


class Deep:
    def __repr__(self):
        return repr([self])


class ModelNew(nn.Module):
    def forward(self, x):
        return len(repr(Deep()))
