# expect: PASSED
# task: relu
# habit: returns a view of a fresh tensor of its own that is larger than the result
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        room = torch.empty(x.numel() + 128, dtype=x.dtype)
        out = room[64 : 64 + x.numel()].view(x.shape)
        torch.clamp(x, min=0, out=out)
        return out
