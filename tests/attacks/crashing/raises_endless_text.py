# expect: RUNTIME_ERROR TIMEOUT OUT_OF_MEMORY
# task: row_softmax
# Raises an exception whose text is half a gigabyte.
import torch.nn as nn


class Long(Exception):
    def __str__(self):
        return "x" * (1 << 29)


class ModelNew(nn.Module):
    def forward(self, x):
        raise Long
