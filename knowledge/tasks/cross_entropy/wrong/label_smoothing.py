# expect: WRONG_VALUES
# Smooths the labels, which nobody asked for.
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return F.cross_entropy(logits, targets, reduction="none", label_smoothing=0.1)
