# expect: PASSED
# Pads, then adds nine strided slices.
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        height, width = x.shape[2], x.shape[3]
        out_h, out_w = (height + 1) // 2, (width + 1) // 2
        x = F.pad(x, (1, 2, 1, 2))
        total = 0
        for dy in range(3):
            for dx in range(3):
                total = total + x[:, :, dy : dy + 2 * out_h - 1 : 2, dx : dx + 2 * out_w - 1 : 2]
        return total / 9.0
