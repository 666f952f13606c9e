# expect: RUNTIME_ERROR COMPILE_ERROR
# task: row_softmax
# Imports a module that is not there.
import torch.nn as nn
import triton_kernels_that_are_not_installed


class ModelNew(nn.Module):
    forward = triton_kernels_that_are_not_installed.forward
