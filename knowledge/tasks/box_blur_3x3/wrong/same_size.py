# expect: WRONG_SHAPE
# Pads where the task does not.
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, image):
        return F.avg_pool2d(image[None], kernel_size=3, stride=1, padding=1)[0]
