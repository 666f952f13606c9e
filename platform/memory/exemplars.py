"""Ways in which people and torch code ask for a kind of work: a text is about what its nearest ones are about.

Owns the sentences. They were made up from the trade's usage, not from any entry or query set; ``concepts.py`` has the
lexicon that needs no model, this catches what no pattern foresaw.
"""

from __future__ import annotations

import logging
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.records.record import content_hash

if TYPE_CHECKING:
    from kernelwright.memory.embedding import Embedder, Vectors

log = logging.getLogger(__name__)

EXEMPLARS: dict[str, tuple[str, ...]] = {
    "softmax": (
        "turn scores into probabilities that sum to one",
        "exponentiate each row and divide by the row total",
        "numerically stable exp of x minus the row maximum",
        "probs = logits.softmax(-1)",
        "p = torch.exp(x - x.max(1, keepdim=True).values); p = p / p.sum(1, keepdim=True)",
        "normalise attention weights over the last axis",
        "output distribution over classes for each sample",
        "sampling from a vocabulary needs the exponentials of all logits",
        "exp and the division dominate a row kernel",
        "three passes over each row: maximum, sum of exponentials, scaling",
        "gumbel or temperature scaled scores",
        "routing weights of experts from gate scores",
    ),
    "attention": (
        "every query looks at every key and mixes the values",
        "fused multi-head self attention without the N x N matrix",
        "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        "scores = q @ k.transpose(-1, -2) * scale",
        "weights = (q @ k.mT).softmax(-1); out = weights @ v",
        "transformer block, the part between the projections",
        "softmax between two matrix products, keep it in cache",
        "cross attention from decoder to encoder states",
        "long context inference on a processor, blocks of keys",
        "the T x T intermediate blows up memory traffic",
        "nn.MultiheadAttention is slow on my sequence",
        "masked dot products of tokens with a running maximum",
    ),
    "cross_entropy": (
        "classification loss from raw scores and integer labels",
        "minus the log probability of the right class",
        "loss = F.nll_loss(F.log_softmax(x, 1), y)",
        "loss = -log_p[torch.arange(n), target].mean()",
        "log of the sum of exponentials minus the score of the target",
        "training loss of a language model over its vocabulary",
        "criterion = nn.CrossEntropyLoss()",
        "softmax and negative log likelihood fused so that nothing is written",
        "only one entry of each row of log probabilities is needed",
        "loss of next token prediction",
    ),
    "layer_norm": (
        "subtract the mean of each token and divide by its standard deviation",
        "nn.LayerNorm(hidden) in a transformer",
        "(x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + eps)",
        "normalise features to zero mean and unit variance with gain and bias",
        "mean and variance in one pass over a row",
        "statistics of every row, then scale and shift",
        "F.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)",
        "instance or group statistics, then an affine map",
        "normalisation before the feed-forward block reads x twice",
    ),
    "rms_norm": (
        "scale each token by one over the root of its mean square",
        "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * g",
        "llama style normalisation without subtracting the mean",
        "class RMSNorm(nn.Module)",
        "add the residual stream and normalise by root mean square",
        "norm of hidden states in mistral, qwen, llama decode",
        "sum of squares over the hidden size, then multiply by a weight",
    ),
    "residual": (
        "x = x + sublayer(x) before the norm",
        "add the shortcut branch and return the sum as well",
        "fuse the elementwise add of two hidden states with the normalisation after it",
    ),
    "l2_norm": (
        "scale every vector to length one",
        "embeddings on the unit sphere for retrieval",
        "F.normalize(emb, dim=-1)",
        "v / torch.sqrt((v ** 2).sum(-1, keepdim=True))",
        "divide each row by its euclidean norm",
        "prepare vectors for cosine similarity search",
        "x / x.norm(p=2, dim=1, keepdim=True).clamp(min=1e-12)",
        "unit vectors of a batch of descriptors",
    ),
    "matmul": (
        "multiply two dense matrices",
        "fully connected layer followed by an activation",
        "y = F.linear(x, weight, bias)",
        "out = x @ w.t() + b",
        "a hidden layer of a perceptron, batch times weights",
        "sgemm with an epilogue",
        "torch.addmm(bias, x, w.T).relu_()",
        "nn.Sequential(nn.Linear(1024, 4096), nn.ReLU())",
        "register blocking of rows and columns with broadcast of one operand",
        "pack the weights in panels for streaming",
        "the GEMM reaches half of peak flops",
        "inner products of all rows with all columns",
        "projection of tokens to a wider size",
        "matrix product plus bias plus clamp in one kernel",
    ),
    "relu": ("negative results become zero", "clamp the result from below at nought", "torch.clamp_min(y, 0)"),
    "conv": (
        "dense 3x3 convolution with many input and output channels",
        "F.relu(F.conv2d(x, w, b, padding=1))",
        "nn.Sequential(nn.Conv2d(64, 128, 3, padding=1), nn.ReLU())",
        "layer of an image classifier, kernel three, stride one",
        "slide learned filters over feature maps and sum over input channels",
        "the body of a residual network block",
        "convolution with bias and activation, no patch matrix",
        "first layers of a vision backbone on 224 x 224 images",
        "accumulate over kernel positions and channels in registers",
        "nn.Conv1d over audio frames",
    ),
    "depthwise": (
        "each channel has a filter of its own and channels are not mixed",
        "nn.Conv2d(c, c, 3, padding=1, groups=c)",
        "F.conv2d(x, w, groups=x.shape[1])",
        "the spatial half of a separable convolution",
        "little arithmetic a byte: nine multiplies a pixel in every plane",
        "mobile network layer that is bound by memory",
        "per plane correlation with a small window",
        "grouped convolution with as many groups as channels",
    ),
    "pool_max": (
        "keep the largest value of every 2x2 block",
        "nn.MaxPool2d(3, stride=2, padding=1)",
        "F.max_pool2d(x, 2)",
        "reduce resolution by taking maxima",
        "x.view(n, c, h // 2, 2, w // 2, 2).amax(dim=(3, 5))",
        "torch.maximum of even and odd columns, then rows",
        "peak of each window of a feature map",
    ),
    "pool_avg": (
        "average every 2x2 block to halve an image",
        "nn.AvgPool2d(2)",
        "F.avg_pool2d(x, kernel_size=4)",
        "mean of non-overlapping tiles",
        "x.reshape(n, c, h // 2, 2, w // 2, 2).mean((3, 5))",
        "shrink feature maps by averaging",
        "area downscale of a picture by an integer factor",
    ),
    "box_blur": (
        "every pixel becomes the mean of its neighbours",
        "blur with a flat 3x3 kernel, stride one",
        "F.avg_pool2d(img, 3, stride=1)",
        "sum of three columns then three rows, divided by nine",
        "two-pass separable smoothing of an image",
        "moving window average in two dimensions",
        "(a[:-2] + a[1:-1] + a[2:]) / 3 along both axes",
        "the classic two-stage image pipeline, horizontal then vertical",
        "uniform filter of scipy.ndimage",
    ),
    "lut": (
        "map every pixel through a table of 256 values",
        "table[x.long()]",
        "apply a tone curve to an image",
        "histogram equalisation by lookup",
        "contrast and brightness by a precomputed table",
    ),
    "bytes": ("8 bit pixels in and out", "uint8 tensors of an image", "camera frames in bytes, saturating arithmetic"),
    "cumsum": (
        "each output is the sum of all inputs up to there",
        "torch.cumsum(x, dim=-1)",
        "x.cumsum(1)",
        "prefix sum of long rows",
        "running totals along time",
        "a scan whose every step needs the step before",
        "cumulative distribution from densities",
        "for i in range(1, n): y[i] = y[i-1] + x[i]",
        "torch.cumprod of discount factors",
        "serial dependency of an accumulation along a row",
        "offsets from counts",
        "reverse cumulative sum of rewards",
    ),
    "reduce": (
        "add up all elements of every row",
        "x.sum(dim=1)",
        "torch.mean(x, -1)",
        "x.max(dim=1).values",
        "totals along an axis",
        "one number for every row of a big matrix",
        "reads everything once and writes almost nothing",
        "a single accumulator makes the loop wait on add latency",
        "average over the spatial positions of each channel",
        "torch.sum(a * b, dim=-1)",
        "argmax over the last axis",
        "read only kernel below memory bandwidth",
    ),
    "mse": ("mean of squared differences of prediction and target", "F.mse_loss(pred, y)"),
    "activation": (
        "gaussian error linear unit, tanh form",
        "0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x ** 3)))",
        "nn.GELU()",
        "F.silu(x)",
        "x * torch.sigmoid(x)",
        "swish, mish or elu over a large tensor",
        "transcendental function of every element is slow",
        "vectorised tanh by a rational or exponential form",
        "activation between the two layers of a feed-forward block",
        "libm calls in the inner loop of an activation",
    ),
    "pointwise": (
        "several elementwise steps fused to one pass over memory",
        "y = (x * a + b).clamp(0, 6) * c",
        "eager mode launches a kernel for each arithmetic operator",
        "intermediate tensors of a formula on every element",
        "scale, shift, compare and select per element",
        "torch.where(x > 0, x * 2, x - 1) + bias",
    ),
    "sort": ("order the elements of every row",),
    "topk": ("indices of the k largest entries",),
    "fft": ("frequencies of a signal",),
    "gather": ("rows of a table by index", "embedding of token ids"),
    "transpose": ("exchange rows and columns of a matrix",),
    "rope": ("rotate pairs of query and key components by position",),
}
"""Concept -> sentences."""


@dataclass(frozen=True)
class ExemplarVectors:
    """The embedded sentences."""

    concepts: tuple[str, ...]
    """One a row."""
    vectors: Vectors
    """[sentence, dimension] float32."""


def exemplar_vectors(embedder: Embedder, file: Path) -> ExemplarVectors:
    """The sentences as vectors, embedded once and kept in a file that can be deleted.

    Args:
        embedder: what queries are embedded with.
        file: where they are kept; one made of other sentences or by another model is made anew.
    """
    import numpy as np

    pairs = [(concept, text) for concept, texts in EXEMPLARS.items() for text in texts]
    concepts = tuple(concept for concept, _ in pairs)
    made_of = content_hash([embedder.name, pairs])
    try:
        with np.load(file, allow_pickle=False) as kept:
            if str(kept["made_of"]) == made_of:
                return ExemplarVectors(concepts, kept["vectors"])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        log.debug("%s: %s", file, error)
    vectors = embedder.embed([text for _, text in pairs])
    part = file.with_name(f".{file.stem}.{os.getpid()}.npz")
    try:
        np.savez(part, made_of=np.array(made_of), vectors=vectors)
        os.replace(part, file)
    except OSError as error:
        log.warning("%s: cannot be kept: %s", file, error)
        part.unlink(missing_ok=True)
    return ExemplarVectors(concepts, vectors)
