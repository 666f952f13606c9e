# expect: TIMEOUT
# task: row_softmax
# Answers every interrupt and loops.
import signal

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for number in range(1, 64):
            try:
                signal.signal(number, lambda *args: None)
            except (OSError, ValueError):
                continue
        while True:
            signal.pause()
