# expect: WRONG_DTYPE
# Right values, handed back as float32.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, brightness):
        super().__init__()
        self.brightness = brightness

    def forward(self, image, table):
        wide = image.to(torch.int32)
        rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
        total = rows[:-2] + rows[1:-1] + rows[2:]
        return table[torch.clamp(total // 9 + self.brightness, 0, 255).to(torch.int64)].to(torch.float32)
