# expect: PASSED REFUSED
# task: batch_norm_train
# habit: keeps running statistics as the reference does
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.BatchNorm1d(features)

    def forward(self, x):
        norm = self.norm
        variance, mean = torch.var_mean(x, dim=0, correction=0)
        n = x.shape[0]
        norm.running_mean.mul_(0.9).add_(mean, alpha=0.1)
        norm.running_var.mul_(0.9).add_(variance, alpha=0.1 * n / (n - 1))
        scale = norm.weight * torch.rsqrt(variance + norm.eps)
        return torch.addcmul(norm.bias - mean * scale, x, scale)
