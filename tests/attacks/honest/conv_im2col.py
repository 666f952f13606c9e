# expect: PASSED
# task: conv3x3_relu in_channels=8 out_channels=16 height=28 width=28
# habit: im2col and a product, own scratch, in-place epilogue
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)

    def forward(self, x):
        columns = F.unfold(x, 3, padding=1)
        out = torch.matmul(self.conv.weight.reshape(self.conv.out_channels, -1), columns)
        out.add_(self.conv.bias[None, :, None]).clamp_(min=0)
        return out.reshape(x.shape[0], -1, x.shape[2], x.shape[3])
