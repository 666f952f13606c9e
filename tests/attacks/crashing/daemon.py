# expect: WRONG_VALUES RUNTIME_ERROR CHEATED POLICY TIMEOUT PASSED
# task: row_softmax
# Leaves a daemon by a double fork; otherwise right.
import os
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.environ.clear()
                time.sleep(417)
            os._exit(0)

    def forward(self, x):
        return torch.softmax(x, dim=1)
