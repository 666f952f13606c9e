# expect: RUNTIME_ERROR WRONG_SHAPE CHEATED TIMEOUT
# task: row_softmax
# Returns a list that holds itself.
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = [x]
        out.append(out)
        return out
