# expect: RUNTIME_ERROR
# task: row_softmax
# A thread ends the process a moment later.
import os
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        threading.Timer(0.05, os._exit, (0,)).start()

    def forward(self, x):
        return torch.softmax(x, dim=1)
