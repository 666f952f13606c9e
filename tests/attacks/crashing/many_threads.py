# expect: RUNTIME_ERROR OUT_OF_MEMORY PASSED CHEATED TIMEOUT POLICY
# task: row_softmax
# Starts three thousand threads that wait.
import threading
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(3000):
            threading.Thread(target=time.sleep, args=(300,)).start()
        return torch.softmax(x, dim=1)
