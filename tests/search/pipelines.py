"""Small pipelines of several kinds, for tests of the schedule search."""

from functools import lru_cache

import torch
import torch.nn.functional as F
from search.references import Lambda, task_facts
from torch import nn

from kernelwright.search.lowering import lower_all


def _blur(t):
    rows = F.avg_pool2d(t, (1, 3), 1)
    return torch.tanh(F.avg_pool2d(rows, (3, 1), 1) * 2 + 1)


KINDS = {
    "blur": (lambda: Lambda(_blur), (1, 1, 40, 50)),
    "softmax": (lambda: Lambda(lambda t: F.softmax(t, -1)), (12, 100)),
    "linear": (lambda: nn.Linear(40, 70), (30, 40)),
    "convolution": (lambda: nn.Conv2d(3, 5, 3), (1, 3, 12, 20)),
    "scan": (lambda: Lambda(lambda t: t.cumsum(1)), (12, 40)),
    "all": (lambda: Lambda(lambda t: (t * t).mean()), (20, 200)),
}


@lru_cache
def made(kind):
    """(pipeline, module, argument) of a kind."""
    make, shape = KINDS[kind]
    torch.manual_seed(0)
    module, argument = make(), torch.randn(*shape)
    return next(iter(lower_all(task_facts(module, [argument])).values())), module, argument
