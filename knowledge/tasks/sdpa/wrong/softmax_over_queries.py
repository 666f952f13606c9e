# expect: WRONG_VALUES
# Normalises over the wrong axis.
import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, query, key, value):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return torch.softmax(scores, dim=-2) @ value
