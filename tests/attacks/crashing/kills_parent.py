# expect: RUNTIME_ERROR CHEATED OUT_OF_MEMORY TIMEOUT POLICY
# task: row_softmax
# needs: sandbox
# Kills its parent.
import os
import signal
import time

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1)
        raise RuntimeError("still there")
