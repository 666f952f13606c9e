# expect: TIMEOUT
# task: row_softmax
# Packs for ever.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def prepare(self):
        while True:
            pass

    def forward(self, x):
        return torch.softmax(x, dim=1)
