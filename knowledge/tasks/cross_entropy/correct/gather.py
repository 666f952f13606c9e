# expect: PASSED
# logsumexp around the maximum minus the gathered logit.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        centred = logits - logits.amax(dim=1, keepdim=True)
        picked = centred.gather(1, targets[:, None])[:, 0]
        return torch.log(torch.exp(centred).sum(dim=1)) - picked
