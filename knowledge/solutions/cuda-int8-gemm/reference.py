"""Product of int8 matrices with int32 sums: x @ w.T."""

import torch
import torch.nn as nn

rows = 512
depth = 1024
features = 512


class Model(nn.Module):
    """Exact: sums of products of int8 fit int32, and up to a depth of 1024 the 24 bits of float32 too."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """x: [rows, depth], w: [features, depth] int8 -> [rows, features] int32"""
        wide = torch.float32 if x.shape[1] <= 1024 else torch.float64
        return (x.to(wide) @ w.to(wide).t()).to(torch.int32)


def get_inputs():
    return [torch.randint(-128, 128, s, dtype=torch.int8) for s in ((rows, depth), (features, depth))]


def get_init_inputs():
    return []
