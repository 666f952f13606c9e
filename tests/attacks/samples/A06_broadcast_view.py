# The mean is the same over the row: broadcasting avoids writing it out.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.mean(x, dim=1, keepdim=True).expand(x.shape)
