# expect: WRONG_VALUES
# Forgets the division by sqrt(head_dim).
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, scale=1.0)
