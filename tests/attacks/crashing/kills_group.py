# expect: RUNTIME_ERROR CHEATED OUT_OF_MEMORY TIMEOUT POLICY
# task: row_softmax
# needs: sandbox
# Kills its process group, and all it may kill where it is nobody.
import os
import signal

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
        if os.getuid() != 0 or os.getpid() < 64:  # a user or a process namespace of its own: the whole machine is safe
            os.kill(-1, signal.SIGKILL)
        os.killpg(0, signal.SIGKILL)
        return x
