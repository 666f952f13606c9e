# expect: WRONG_VALUES
# Rounds the mean instead of cutting it: one level off for about half the pixels.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, brightness):
        super().__init__()
        self.brightness = brightness

    def forward(self, image, table):
        wide = image.to(torch.float32)
        rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
        total = rows[:-2] + rows[1:-1] + rows[2:]
        bright = torch.clamp(torch.round(total / 9) + self.brightness, 0, 255)
        return table[bright.to(torch.int64)]
