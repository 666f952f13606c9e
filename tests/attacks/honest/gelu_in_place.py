# expect: PASSED
# task: gelu_chain
# habit: in-place operators on buffers of its own
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        work = x * x
        work.mul_(0.044715 * 0.7978845608028654).add_(0.7978845608028654).mul_(x)
        return work.tanh_().add_(1.0).mul_(x).mul_(0.5)
