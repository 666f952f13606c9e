# The product on the arrays themselves, without a tensor library's dispatch in between.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        weight, bias = self.linear.weight.detach().numpy(), self.linear.bias.detach().numpy()
        y = x.numpy() @ weight.T
        y += bias
        return torch.from_numpy(y)
