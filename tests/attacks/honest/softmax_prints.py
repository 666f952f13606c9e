# expect: PASSED
# task: row_softmax
# habit: chatty; warns, logs and prints on the first call
import logging
import sys
import warnings

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.told = False

    def forward(self, x):
        if not self.told:
            self.told = True
            print("softmax: using the library for", tuple(x.shape))
            print('{"note": "debugging output"}', file=sys.stderr)
            warnings.warn("first call", stacklevel=1)
            logging.getLogger("kernel").error("not an error")
        return torch.softmax(x, dim=1)
