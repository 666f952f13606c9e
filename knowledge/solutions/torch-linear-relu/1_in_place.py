# kernelwright evaluate matmul_bias_relu 1_in_place.py
#
# The reference's two operators, but the ReLU works in place: one pass over the result less, and no second buffer.
import torch
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    """relu(x @ weight.T + bias); takes two parameters in the order weight, bias, however they are called."""

    def __init__(self, *sizes):
        super().__init__()

    def load_state_dict(self, state, strict=True):
        self.weight, self.bias = (t.detach().clone() for t in state.values())

    def forward(self, x):
        return F.linear(x, self.weight, self.bias).relu_()
