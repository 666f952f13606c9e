"""Not a test: the sizes at which GPU exemplars are run under emulation; values of their reference.py's constants.

The first rung of a ladder takes all of them; later ones may refuse a size, in words, but not all.
"""

from typing import Any

CASES: dict[str, list[dict[str, Any]]] = {
    "cuda-box-blur": [{"height": 3, "width": 3}, {"height": 20, "width": 70}, {"height": 37, "width": 133}],
    "cuda-conv2d-implicit-gemm": [
        {"batch": 1, "channels": 1, "filters": 1, "height": 1, "width": 1},
        {"batch": 2, "channels": 3, "filters": 5, "height": 9, "width": 11},
        {"batch": 1, "channels": 5, "filters": 66, "height": 7, "width": 10},
    ],
    "cuda-copy": [{"elements": 1}, {"elements": 1000}, {"elements": 8191}],
    "cuda-cross-entropy": [{"rows": 3, "classes": 7}, {"rows": 5, "classes": 1000}, {"rows": 2, "classes": 8200}],
    "cuda-depthwise-conv": [
        {"batch": 1, "channels": 1, "height": 1, "width": 1},
        {"batch": 2, "channels": 3, "height": 17, "width": 33},
        {"batch": 1, "channels": 2, "height": 5, "width": 130},
    ],
    "cuda-flash-attention": [
        {"batch": 1, "heads": 2, "tokens": 37},
        {"batch": 1, "heads": 1, "tokens": 128},
        {"batch": 2, "heads": 1, "tokens": 192},
    ],
    "cuda-fp8-gemm": [
        {"rows": 3, "depth": 5, "features": 7},
        {"rows": 64, "depth": 192, "features": 128},
        {"rows": 128, "depth": 64, "features": 64},
    ],
    "cuda-grouped-gemm": [
        {"tokens": 5, "depth": 3, "features": 7, "experts": 3},
        {"tokens": 70, "depth": 64, "features": 64, "experts": 4},
        {"tokens": 131, "depth": 96, "features": 128, "experts": 2},
    ],
    "cuda-hgemm-mma": [
        {"rows": 33, "depth": 40, "features": 20},
        {"rows": 128, "depth": 64, "features": 64},
        {"rows": 128, "depth": 160, "features": 192},
    ],
    "cuda-int8-gemm": [
        {"rows": 3, "depth": 5, "features": 7},
        {"rows": 33, "depth": 36, "features": 40},
        {"rows": 64, "depth": 192, "features": 128},
        {"rows": 128, "depth": 64, "features": 64},
    ],
    "cuda-paged-decode": [
        {"sequences": 1, "heads": 1, "pages": 1},
        {"sequences": 3, "heads": 2, "pages": 5},
        {"sequences": 2, "heads": 3, "pages": 3, "page": 7},
    ],
    "cuda-rms-norm-residual": [{"rows": 3, "columns": 7}, {"rows": 5, "columns": 100}, {"rows": 2, "columns": 1536}],
    "cuda-rotary": [
        {"batch": 1, "heads": 3, "tokens": 5, "half": 6},
        {"batch": 2, "heads": 9, "tokens": 7, "half": 8},
        {"batch": 1, "heads": 2, "tokens": 3, "half": 32},
    ],
    "cuda-row-sum": [{"rows": 3, "columns": 7}, {"rows": 9, "columns": 1000}, {"rows": 2, "columns": 5000}],
    "cuda-scan": [{"elements": 1}, {"elements": 1023}, {"elements": 40000}, {"elements": 5000}],
    "cuda-sgemm": [{"m": 1, "k": 1, "n": 1}, {"m": 33, "k": 20, "n": 40}, {"m": 130, "k": 33, "n": 132}],
    "cuda-softmax": [
        {"rows": 3, "columns": 7},
        {"rows": 9, "columns": 100},
        {"rows": 3, "columns": 1024},
        {"rows": 2, "columns": 1500},
    ],
    "cuda-transpose": [{"rows": 33, "columns": 7}, {"rows": 100, "columns": 68}, {"rows": 64, "columns": 132}],
    "cute-attention-causal": [
        {"batch": 1, "heads": 2, "tokens": 37},
        {"batch": 1, "heads": 1, "tokens": 128},
        {"batch": 2, "heads": 1, "tokens": 192},
    ],
    "cute-attention-f16": [
        {"batch": 1, "heads": 1, "queries": 5, "keys": 70},
        {"batch": 2, "heads": 1, "queries": 64, "keys": 192},
        {"batch": 1, "heads": 2, "queries": 128, "keys": 64},
    ],
    "cute-box-blur": [{"height": 3, "width": 3}, {"height": 20, "width": 70}, {"height": 37, "width": 133}],
    "cute-conv2d-f16": [
        {"batch": 1, "channels": 1, "filters": 1, "height": 3, "width": 3},
        {"batch": 2, "channels": 3, "filters": 5, "height": 9, "width": 11},
        {"batch": 1, "channels": 5, "filters": 66, "height": 7, "width": 16},
    ],
    "cute-copy": [{"elements": 1}, {"elements": 1000}, {"elements": 8188}, {"elements": 4096}],
    "cute-cross-entropy": [{"rows": 3, "classes": 7}, {"rows": 5, "classes": 1000}, {"rows": 2, "classes": 8200}],
    "cute-layer-norm": [
        {"rows": 3, "columns": 7},
        {"rows": 9, "columns": 100},
        {"rows": 3, "columns": 1024},
        {"rows": 2, "columns": 1500},
    ],
    "cute-linear-f16": [
        {"rows": 64, "depth": 48, "features": 64},
        {"rows": 128, "depth": 96, "features": 256},
        {"rows": 128, "depth": 160, "features": 128},
    ],
    "cute-linear-relu-f16": [
        {"rows": 33, "depth": 40, "features": 20},
        {"rows": 128, "depth": 64, "features": 128},
        {"rows": 128, "depth": 160, "features": 256},
    ],
    "cute-rms-norm-residual": [{"rows": 3, "columns": 7}, {"rows": 5, "columns": 100}, {"rows": 2, "columns": 1536}],
    "cute-rotary": [
        {"batch": 1, "heads": 3, "tokens": 5, "half": 6},
        {"batch": 2, "heads": 9, "tokens": 7, "half": 8},
        {"batch": 1, "heads": 2, "tokens": 3, "half": 32},
    ],
    "cute-row-sum": [{"rows": 3, "columns": 7}, {"rows": 9, "columns": 1000}, {"rows": 2, "columns": 5000}],
    "cute-sgemm": [{"m": 1, "k": 1, "n": 1}, {"m": 33, "k": 20, "n": 40}, {"m": 130, "k": 33, "n": 132}],
    "cute-softmax": [
        {"rows": 3, "columns": 7},
        {"rows": 9, "columns": 100},
        {"rows": 3, "columns": 1020},
        {"rows": 2, "columns": 1500},
    ],
    "cute-split-k": [
        {"rows": 3, "depth": 5, "features": 7},
        {"rows": 20, "depth": 600, "features": 70},
        {"rows": 64, "depth": 2048, "features": 64},
    ],
    "cute-transpose": [{"rows": 33, "columns": 7}, {"rows": 100, "columns": 68}, {"rows": 64, "columns": 132}],
    "cutedsl-copy": [{"elements": 4}, {"elements": 1001}, {"elements": 8188}],
    "cutedsl-linear-f16": [
        {"rows": 33, "depth": 40, "features": 20},
        {"rows": 70, "depth": 64, "features": 136},
        {"rows": 130, "depth": 160, "features": 72},
    ],
    "cutedsl-rms-norm-residual": [{"rows": 5, "columns": 37}, {"rows": 3, "columns": 100}, {"rows": 2, "columns": 900}],
    "cutedsl-row-sum": [{"rows": 5, "columns": 1030}, {"rows": 3, "columns": 548}, {"rows": 9, "columns": 100}],
    "cutedsl-softmax": [{"rows": 2, "columns": 37}, {"rows": 5, "columns": 100}, {"rows": 3, "columns": 1000}],
    "cutedsl-transpose": [{"rows": 33, "columns": 70}, {"rows": 40, "columns": 72}, {"rows": 100, "columns": 36}],
    "triton-attention-causal": [
        {"batch": 1, "heads": 2, "tokens": 37},
        {"batch": 1, "heads": 1, "tokens": 64},
        {"batch": 2, "heads": 1, "tokens": 130},
    ],
    "triton-cross-entropy": [{"rows": 3, "classes": 7}, {"rows": 5, "classes": 1000}, {"rows": 2, "classes": 8200}],
    "triton-layer-norm-residual": [
        {"rows": 3, "columns": 7},
        {"rows": 9, "columns": 100},
        {"rows": 2, "columns": 1500},
    ],
    "triton-linear-gelu": [
        {"rows": 5, "depth": 3, "features": 7},
        {"rows": 70, "depth": 70, "features": 130},
        {"rows": 300, "depth": 33, "features": 140},
    ],
    "triton-matmul": [{"m": 5, "k": 3, "n": 7}, {"m": 140, "k": 70, "n": 130}, {"m": 300, "k": 33, "n": 140}],
    "triton-rotary": [
        {"batch": 1, "heads": 3, "tokens": 5, "half": 6},
        {"batch": 2, "heads": 9, "tokens": 7, "half": 8},
        {"batch": 1, "heads": 2, "tokens": 33, "half": 32},
    ],
    "triton-softmax": [{"rows": 3, "columns": 7}, {"rows": 9, "columns": 100}, {"rows": 2, "columns": 1500}],
    "triton-split-k": [
        {"rows": 3, "depth": 5, "features": 7},
        {"rows": 20, "depth": 600, "features": 70},
        {"rows": 16, "depth": 2048, "features": 64},
    ],
}
