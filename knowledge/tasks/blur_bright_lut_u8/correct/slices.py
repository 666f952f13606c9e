# expect: PASSED
# 16-bit sums are enough: nine pixels of 8 bits reach 2295.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, brightness):
        super().__init__()
        self.brightness = brightness

    def forward(self, image, table):
        wide = image.to(torch.int16)
        rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
        total = rows[:-2] + rows[1:-1] + rows[2:]
        bright = torch.clamp(torch.div(total, 9, rounding_mode="floor") + self.brightness, 0, 255)
        return torch.index_select(table, 0, bright.reshape(-1).to(torch.int32)).reshape(bright.shape)
