# expect: PASSED
# task: layer_norm
# habit: skips the affine part where, after loading, it is the identity (decided in prepare, right for any weights)
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.identity = False

    def prepare(self):
        self.identity = bool((self.norm.weight == 1).all() and (self.norm.bias == 0).all())

    def forward(self, x):
        affine = (None, None) if self.identity else (self.norm.weight, self.norm.bias)
        return torch.nn.functional.layer_norm(x, (x.shape[-1],), *affine, self.norm.eps)
