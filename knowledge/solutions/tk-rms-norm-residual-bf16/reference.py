"""Residual add and RMS norm along rows of bfloat16 matrices."""

import torch
import torch.nn as nn

rows = 16384
columns = 2048


class Model(nn.Module):
    """h = x + r; h * rsqrt(mean(h * h) + 1e-6) * weight, float32 inside."""

    def forward(self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """x, residual: [rows, columns], weight: [columns] bfloat16 -> [rows, columns] bfloat16"""
        return nn.functional.rms_norm((x + residual).float(), (columns,), weight.float(), 1e-6).bfloat16()


def get_inputs():
    return [torch.randn(rows, columns).bfloat16(), torch.randn(rows, columns).bfloat16(), torch.randn(columns).bfloat16()]


def get_init_inputs():
    return []
