# ReLU in place on a view: no allocation.
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.view(-1).clamp_(min=0).view(x.shape)
