# expect: PASSED
# Every place that holds the row's largest value is marked; the first mark counts.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, scores):
        marked = scores == scores.amax(dim=1, keepdim=True)
        places = torch.arange(scores.shape[1], device=scores.device).expand_as(scores)
        return torch.where(marked, places, scores.shape[1]).amin(dim=1)
