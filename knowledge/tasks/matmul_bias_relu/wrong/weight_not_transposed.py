# expect: WRONG_VALUES
# x @ weight instead of x @ weight.T: the shapes fit because the layer is square.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return torch.relu(x @ self.linear.weight + self.linear.bias)
