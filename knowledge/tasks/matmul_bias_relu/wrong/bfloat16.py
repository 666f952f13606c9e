# expect: WRONG_VALUES
# Multiplies in bfloat16.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        product = x.to(torch.bfloat16) @ self.linear.weight.to(torch.bfloat16).t()
        return torch.relu(product.to(torch.float32) + self.linear.bias)
