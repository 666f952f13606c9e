# expect: PASSED
# task: avg_pool2d batch=1 channels=8 height=56 width=56
# habit: index tables keyed by shape, built at the first call for a shape
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = {}

    def table(self, height, width):
        if (height, width) not in self.tables:
            rows = torch.arange(0, height, 2)[:, None] + torch.arange(3)[None, :]
            columns = torch.arange(0, width, 2)[:, None] + torch.arange(3)[None, :]
            index = rows[:, None, :, None] * (width + 2) + columns[None, :, None, :]
            self.tables[height, width] = index.reshape(rows.shape[0], columns.shape[0], 9)
        return self.tables[height, width]

    def forward(self, x):
        batch, channels, height, width = x.shape
        padded = torch.nn.functional.pad(x, (1, 1, 1, 1)).reshape(batch * channels, -1)
        index = self.table(height, width)
        out = padded[:, index.reshape(-1)].reshape(batch, channels, *index.shape)
        return out.mean(dim=-1)
