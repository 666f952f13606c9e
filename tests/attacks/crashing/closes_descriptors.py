# expect: RUNTIME_ERROR CHEATED TIMEOUT
# task: row_softmax
# Closes every descriptor.
import os

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.closerange(0, 256)
        return x
