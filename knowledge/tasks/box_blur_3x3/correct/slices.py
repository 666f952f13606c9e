# expect: PASSED
# Two passes of slice sums.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, image):
        rows = image[:, :-2] + image[:, 1:-1] + image[:, 2:]
        return (rows[:-2] + rows[1:-1] + rows[2:]) / 9.0
