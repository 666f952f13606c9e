# expect: OUT_OF_MEMORY RUNTIME_ERROR TIMEOUT
# task: row_softmax
# Leaks by cycles, with the collector switched off.
import gc

import torch
import torch.nn as nn

gc.disable()
gc.enable = gc.collect = lambda *args: 0


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(64):
            cycle = [torch.ones(64 << 20)]
            cycle.append(cycle)
        raise MemoryError("not stopped at 16 GB")
