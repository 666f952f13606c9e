"""Attention of one new token a sequence over keys and values that lie in pages."""

import torch
import torch.nn as nn

sequences = 8
heads = 8
pages = 16
page = 16


class Model(nn.Module):
    """Page tables say where a sequence's pages lie; lengths how many tokens count."""

    def forward(self, q, k, v, table, lengths):
        """q: [sequences, heads, 64]; k, v: [pool, heads, page, 64]; table: [sequences, pages]; lengths: [sequences] -> as q"""
        rows = k[table.long()].transpose(1, 2).flatten(2, 3)  # [sequences, heads, pages * page, 64]
        values = v[table.long()].transpose(1, 2).flatten(2, 3)
        scores = torch.einsum("shd,shtd->sht", q, rows) * 0.125
        beyond = torch.arange(pages * page, device=q.device)[None, None] >= lengths[:, None, None]
        return torch.einsum("sht,shtd->shd", scores.masked_fill(beyond, float("-inf")).softmax(-1), values)


def get_inputs():
    pool = sequences * pages
    q = torch.randn(sequences, heads, 64) * 2
    k, v = (torch.randn(pool, heads, page, 64) for _ in range(2))
    table = torch.randperm(pool, dtype=torch.int32).view(sequences, pages)
    return [q, k, v, table, torch.randint(1, pages * page + 1, (sequences,), dtype=torch.int32)]


def get_init_inputs():
    return []
