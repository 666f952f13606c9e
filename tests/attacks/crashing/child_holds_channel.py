# expect: RUNTIME_ERROR CHEATED POLICY TIMEOUT
# task: row_softmax
# Dies while a child keeps the channel open.
import os
import time

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        if os.fork() == 0:
            time.sleep(300)
        os._exit(0)
