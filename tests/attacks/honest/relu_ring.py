# expect: PASSED
# task: relu
# habit: an output arena per input buffer, overwritten by the next call on that buffer
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.outputs = {}

    def forward(self, x):
        key = (x.data_ptr(), tuple(x.shape))
        out = self.outputs.get(key)
        if out is None:
            out = self.outputs[key] = torch.empty_like(x)
        torch.clamp(x, min=0, out=out)
        return out
