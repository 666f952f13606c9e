# expect: PASSED
# task: linear_bias
# habit: packs in the constructor, and again whenever weights are loaded, by a hook
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.pack()
        self.register_load_state_dict_post_hook(lambda module, keys: module.pack())

    def pack(self):
        self.packed = self.linear.weight.detach().t().contiguous()

    def forward(self, x):
        return torch.addmm(self.linear.bias, x, self.packed)
