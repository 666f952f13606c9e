# A Gram matrix is symmetric: half of the blocks suffice.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        half = a.shape[0] // 2
        out = torch.empty(a.shape[0], a.shape[0], dtype=a.dtype)
        top, low = a[:half], a[half:]
        torch.mm(top, top.T, out=out[:half, :half])
        torch.mm(low, low.T, out=out[half:, half:])
        corner = torch.mm(top, low.T)
        out[:half, half:] = corner
        out[half:, :half] = corner.T
        return out
