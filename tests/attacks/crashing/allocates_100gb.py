# expect: OUT_OF_MEMORY RUNTIME_ERROR
# task: row_softmax
# Asks torch for 100 GB.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        block = torch.empty(100 << 30, dtype=torch.uint8)
        raise MemoryError(f"too much: {block.numel()}")
