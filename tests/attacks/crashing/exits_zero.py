# expect: RUNTIME_ERROR
# task: row_softmax
# Leaves with success.
import os

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os._exit(0)
