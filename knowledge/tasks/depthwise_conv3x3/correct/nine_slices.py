# expect: PASSED
# Nine shifted slices of the padded image, each times its tap.
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels)

    def forward(self, x):
        height, width = x.shape[2], x.shape[3]
        padded = F.pad(x, (1, 1, 1, 1))
        total = self.conv.bias.view(1, -1, 1, 1)
        for dy in range(3):
            for dx in range(3):
                tap = self.conv.weight[:, 0, dy, dx].view(1, -1, 1, 1)
                total = total + tap * padded[:, :, dy : dy + height, dx : dx + width]
        return total
