"""Plausible library entries that answer none of the frozen queries: padding for benchmarks of retrieval and scale.

Each is one of a hundred operations that no shipped solution does, in one of the languages, described in the words of
the trade with shapes, techniques and limits. The same count and seed give the same entries.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

OPERATIONS = """
topk|torch.topk, Tensor.topk|Largest k values with their positions|selection
sort|torch.sort, argsort|Stable sort of keys with a permutation|sorting
unique|torch.unique|Distinct values with counts|selection
histogram|torch.histc, bincount|Counts of values in equal bins|histogram
fft1d|torch.fft.fft, rfft|Complex discrete Fourier transform in radix-8 butterflies|transform
fft2d|torch.fft.fft2|Two-dimensional Fourier transform of images|transform
dct|scipy.fft.dct|Discrete cosine transform of 8 by 8 blocks|transform
hadamard|fast Walsh-Hadamard transform|Hadamard transform of power-of-two vectors|transform
wavelet|pywt.dwt2|Haar wavelet pyramid with lifting steps|transform
triangular-solve|torch.linalg.solve_triangular|Forward substitution with a blocked triangular factor|solver
cholesky|torch.linalg.cholesky|Cholesky factor of small positive definite blocks|solver
lu|torch.linalg.lu_factor|LU with partial pivoting of batches of small systems|solver
qr|torch.linalg.qr|Householder QR of tall thin blocks|solver
svd|torch.linalg.svd|One-sided Jacobi singular values|solver
eigh|torch.linalg.eigh|Symmetric eigenvalues by tridiagonal reduction|solver
conjugate-gradient|CG solver|Conjugate gradient steps on a sparse operator|solver
spmm|torch.sparse.mm|Sparse CSR times dense block|sparse
spmv|sparse matrix vector|Sparse rows times one vector, merge based|sparse
sddmm|sampled dense dense|Dense products sampled at sparse places|sparse
block-sparse|block sparse weight|Products with a block-sparse pattern of 32 by 32|sparse
embedding-bag|nn.EmbeddingBag|Sums of table lines by offsets|gather
index-add|Tensor.index_add_|Scatter of additions with collisions|scatter
scatter-max|torch_scatter.scatter_max|Segment maxima of unsorted groups|scatter
grid-sample|F.grid_sample|Bilinear sampling at given coordinates|sampling
roi-align|torchvision.ops.roi_align|Regions of interest resampled to fixed grids|sampling
deformable|deform_conv2d|Sampling offsets learned a tap|sampling
upsample-nearest|F.interpolate nearest|Nearest neighbour enlargement by whole factors|resampling
upsample-bicubic|F.interpolate bicubic|Cubic enlargement with sixteen taps|resampling
pixel-shuffle|nn.PixelShuffle|Channels moved to space|layout
im2col|F.unfold copy|Patches copied to columns|layout
transpose-tiles|contiguous of transpose|Out-of-place transposition of large matrices|layout
nchw-to-nhwc|memory_format channels_last|Change of image layout|layout
concat|torch.cat|Joining many small tensors|layout
roll|torch.roll|Cyclic shifts along an axis|layout
one-hot|F.one_hot|Indices to indicator lines|layout
lstm-cell|nn.LSTMCell|Gates of a long short-term memory step|recurrent
gru-cell|nn.GRUCell|Gated recurrent step with hidden products|recurrent
rwkv|wkv recurrence|Time-mixing recurrence with decays|recurrent
mamba-scan|selective_scan|State-space recurrence with input-dependent transitions|recurrent
linear-recurrence|first-order IIR filter|Recursive filter of audio blocks|recurrent
rotary|apply_rotary_pos_emb|Rotary position of queries and keys|position
alibi|ALiBi slopes|Linear position penalties by head|position
sinusoidal|positional encoding|Sine and cosine tables|position
kv-cache|paged cache append|Appending tokens to paged caches|cache
beam-search|beam step|Candidates of a beam with parents|decoding
sampling-top-p|nucleus sampling|Draw from the smallest set above a mass|decoding
ctc|nn.CTCLoss|Forward-backward over label paths|sequence
viterbi|Viterbi decode|Best path of a hidden Markov chain|sequence
edit-distance|Levenshtein|Dynamic programme of edits in anti-diagonals|sequence
smith-waterman|local alignment|Local alignment scores by wavefront|sequence
dropout|F.dropout|Random zeroing with a counter-based generator|random
philox|torch.rand|Counter-based uniform numbers|random
normal-random|torch.randn|Normal deviates by Box-Muller|random
permutation|torch.randperm|Random permutation by sorting keys|random
adam|torch.optim.AdamW|Moments and weights updated at once|optimiser
sgd-momentum|torch.optim.SGD|Momentum step over flat parameters|optimiser
clip-gradients|clip_grad_norm_|Global gradient length and rescale of many tensors|optimiser
allreduce-ring|dist.all_reduce|Ring exchange of gradient chunks|communication
quantize-int8|quantize_per_channel|Scales and rounding to eight bits|quantisation
dequantize-4bit|GPTQ unpack|Four-bit groups to half precision|quantisation
fp8-cast|torch.float8_e4m3fn|Casts to eight-bit floats with scales|quantisation
int8-dot|torch._int_mm|Integer products with 32-bit sums and rescale|quantisation
moe-route|top-2 gating|Tokens sorted by expert with capacities|routing
moe-combine|expert combine|Expert outputs gathered and weighted|routing
nms|torchvision.ops.nms|Suppression of overlapping boxes|detection
iou|box_iou|Pairwise overlap of boxes|detection
hough|line transform|Votes of edges in angle and distance|vision
canny|cv2.Canny|Edges by hysteresis|vision
sobel|gradient magnitude|Horizontal and vertical derivatives of images|vision
bilateral|cv2.bilateralFilter|Edge-preserving filter with range weights|vision
median|cv2.medianBlur|Median of a window by sorting networks|vision
dilate|morphology|Maxima over structuring elements|vision
demosaic|Bayer to RGB|Colour reconstruction of sensor mosaics|vision
optical-flow|Lucas-Kanade|Motion between frames in pyramids|vision
stereo|semi-global matching|Disparities along eight paths|vision
hilbert|space-filling curve|Order of points along a Hilbert curve|vision
distance-transform|EDT|Exact distances to the nearest zero|vision
connected|label components|Components by union-find|vision
nbody|gravitational forces|All-pairs forces with softening|simulation
lattice-boltzmann|D2Q9|Streaming and collision of populations|simulation
heat3d|seven-point diffusion|Diffusion steps in three dimensions, time skewed|simulation
wave|finite differences|Wave equation of eighth order in space|simulation
game-of-life|cellular automaton|Neighbour counts on bit planes|simulation
ewald|particle mesh|Charges spread to meshes by splines|simulation
monte-carlo|option pricing|Paths of an asset and their payoff|simulation
mandelbrot|escape time|Iterations until escape|simulation
ray-triangle|Moeller-Trumbore|Rays against bundles of triangles|graphics
bvh|traversal|Short-stack traversal of box trees|graphics
gaussian-splat|3DGS rasteriser|Sorted splats blended a tile|graphics
marching-cubes|isosurface|Triangles of an isosurface|graphics
sha256|hashing|Digests of many blocks|integer
crc32|checksum|Checksums by folding|integer
base64|encoding|Bytes to text by shuffles|integer
json-scan|structural characters|Structural characters as bit masks|integer
utf8|validation|Validation of byte sequences by table lookups|integer
lz4|decompression|Literal runs and matches copied|integer
bitonic|bitonic network|Sorting network in registers|sorting
radix-sort|radix sort|Eight-bit digits with local ranks|sorting
merge-path|merge|Balanced merging of sorted runs|sorting
kmeans|cluster assignment|Nearest centre of points|distance
knn|pairwise distance|Nearest points of a reference set|distance
chamfer|point sets|Symmetric nearest distances of clouds|distance
cosine-matrix|pairwise cosine|Angles between all pairs|distance
""".strip().splitlines()
"""Name | what torch or people call it | what it does | family."""

LANGUAGES = {"cpp": "c", "cuda": "c", "cute": "c", "thunderkittens": "c", "torch": "module", "triton": "module",
             "tilelang": "module", "halide": "pipeline"}  # fmt: skip
TECHNIQUES = ["register-tile", "shared-memory-tile", "vector-lanes", "software-prefetch", "double-buffering",
              "persistent", "warp-shuffle-reduction", "row-at-a-time", "tile-and-fuse", "streaming-stores",
              "bank-swizzle", "independent-accumulators", "split-work", "lookup-table", "threads"]  # fmt: skip
BOTTLENECKS = ["memory", "compute", "latency", "overhead", "parallelism"]
USES = ["for long rows as well as many short ones", "for batches of medium size", "for images of any size",
        "where the working set leaves the second-level cache", "for single requests in serving", "for training steps",
        "for odd sizes too, tails are masked", "for contiguous inputs", "where memory is the limit",
        "with one pass over the data", "fused with what follows", "without intermediate tensors"]  # fmt: skip
LIMITS = ["half precision", "strided inputs", "more than four dimensions", "empty inputs", "sizes above 2^31",
          "non-finite values", "unaligned lines", "fewer than four threads"]  # fmt: skip


def entries(count: int, *, seed: int = 0) -> Iterator[dict[str, object]]:
    """So many entries as plain facts: id, title, description, ops, family, language, techniques, code."""
    rng = random.Random(seed)
    pairs = [(operation, language) for operation in OPERATIONS for language in LANGUAGES]
    rng.shuffle(pairs)
    for number in range(count):
        operation, language = pairs[number % len(pairs)]
        name, aliases, does, family = operation.split("|")
        shape = [rng.choice([7, 16, 33, 64, 128, 256, 1000, 1024, 4096, 8192, 50257]) for _ in range(rng.randint(1, 4))]
        techniques = rng.sample(TECHNIQUES, rng.randint(2, 4))
        yield {
            "id": f"{language}-{name}-{number}",
            "title": f"{does.split(' of ')[0]}, {techniques[-1].replace('-', ' ')}",
            "description": f"{does} {rng.choice(USES)}, {rng.choice(USES)}. Made at {'x'.join(map(str, shape))}, "
            f"{rng.choice(['float32', 'bfloat16', 'float16', 'int32'])}; {', '.join(techniques).replace('-', ' ')}.",
            "not_for": rng.choice(LIMITS),
            "ops": [a.strip() for a in aliases.split(",")],
            "family": family,
            "language": language,
            "entry": LANGUAGES[language],
            "techniques": techniques,
            "bottleneck": rng.choice(BOTTLENECKS),
            "code": f"// {name} {number}\nvoid {name.replace('-', '_')}_{number}(float* out, const float* in, long n) "
            f"{{ for (long i = 0; i < n; i += {rng.randint(1, 64)}) out[i] = in[i] * {rng.random():.6f}f; }}\n",
        }


def write_folder(shelf: Path, facts: dict[str, object]) -> Path:
    """One entry as a folder of a shelf."""
    import json

    folder = shelf / str(facts["id"])
    folder.mkdir(parents=True)
    head = {
        "format": "kernelwright/solution/1",
        **{k: facts[k] for k in ("id", "title", "description", "not_for", "family", "language", "entry")},
        "torch_ops": facts["ops"],
        "provenance": {"author": "generated", "source": "tests/benchmarks/plausible.py"},
        "licence": "Apache-2.0",
        "review": {"state": "promoted"},
    }
    techniques = facts["techniques"]
    assert isinstance(techniques, list)
    pipeline = facts["entry"] == "pipeline"
    rungs = [
        {
            "name": f"rung-{i}",
            **({} if pipeline else {"files": ["kernel.py" if facts["entry"] == "module" else "kernel.cpp"]}),
            "decision": {"technique": t, "summary": f"Step {i}: {t}.", "bottleneck": facts["bottleneck"]},
            "not_measured": "generated",
        }
        for i, t in enumerate(techniques)
    ]
    # JSON is YAML, and quicker to write.
    (folder / "solution.yaml").write_text(json.dumps(head), encoding="utf-8")
    (folder / "decisions.yaml").write_text(
        json.dumps({"format": "kernelwright/decisions/1", "rungs": rungs}), encoding="utf-8"
    )
    if not pipeline:
        name = "kernel.py" if facts["entry"] == "module" else "kernel.cpp"
        (folder / name).write_text(str(facts["code"]), encoding="utf-8")
    return folder
