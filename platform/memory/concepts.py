"""Concepts: what kind of work a text or a piece of torch code is about, whatever words or operators it uses.

Owns the lexicon of the trade: names and nicknames of operations, how torch code spells them out, what implies what, and
words that tell a language. It knows no library entry and no task; entries and queries are read through it alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from kernelwright.records.record import content_hash

PHRASES: dict[str, tuple[str, ...]] = {
    "attention": (
        r"attention|\bsdpa\b|flash[ -]?(?:att|style|decod)|\bmha\b|\bgqa\b|\bmqa\b|attn|multi-?head",
        r"q\s*@?\s*k\^?t\b|qk\^?t|\bq,? ?k,? (?:and |& )?v\b|\bk/v\b|\bkv (?:tiles|blocks?)\b|softmax\(qk",
        r"transformer head|quer(?:y|ies) (?:against|and|with) (?:all )?keys|score matrix|scaled dot[ -]product",
        r"heads?\b.{0,24}\bhead[ _]dim|keys and values|causal mask|scores? @ ?v\b",
        r"kv[ -]?cache (?:decode|read)|causal (?:self|lm)|perceiver|\bvit (?:block )?attn|key/value|bhqk",
        r"bhqd|queries, keys",
    ),
    "softmax": (
        r"soft-?max|class (?:scores|probabilit)|probabilit(?:y|ies)|max(?:imum)? subtract|shifted logits|boltzmann",
        r"logits? ?(?:->|to|into) ?(?:a )?(?:dist|prob)|temperature sampling|exp-and-accumulate|max ?\+ ?denominator",
        r"exp(?:onentials?)?.{0,40}divided? by (?:their|the|its) (?:total|sum)",
        r"normali[sz]e(?:d)? (?:the )?(?:logits|scores)",
        r"online normali[sz]er|rows? (?:that )?sums? to (?:one|1)|log-?sum-?exp trick",
        r"mixture weights|action probabilit|gating (?:scores|weights)|normali[sz]ing constant",
        r"exp(?:s|onentials)? (?:of|over) (?:the |each )?(?:row|logit|score)s?",
    ),
    "cross_entropy": (
        r"cross[ -_]?entropy|\bxent\b|nll|log[ -]?likelihood|lm (?:head )?loss|(?:target|label) logit|token loss",
        r"log ?prob(?:s|abilit\w+)?\b.{0,60}(?:pick|gather|target|label|one number)|classification (?:loss|head)",
        r"logsumexp.{0,60}(?:target|gather|label|pick)|perplexity|loss over (?:the |a )?(?:\w+ )?vocab",
        r"softmax loss|(?:true|right|correct) class",
        r"mlm loss|next[ -]token loss|per[ -]pixel class\w* loss|segmentation loss|nn\.nll",
        r"criterion\(|label smoothing|logits,? (?:and )?(?:targets?|labels?)",
    ),
    "layer_norm": (
        r"layer[ _-]?norm|\bpre-?ln\b|\bpost-?ln\b|\bln\b|welford|var_mean|mean (?:and|&) var|mean, var|mean/var",
        r"group[ _-]?norm|instance[ _-]?norm|standardi[sz]e|zero mean|unit variance|stats-then-scale",
        r"normali[sz]e (?:each|every|the) (?:token|hidden|row|feature)|per[ -]token (?:mean|stat)|rstd",
        r"\b(?:bert|gpt-?2|vit)\b.{0,30}norm",
        r"normali[sz]ation (?:before|after) (?:the )?(?:attention|mlp|block)|mean[ -]?(?:centre|center)",
        r"standard deviation|unbiased=False|\bstd\b.{0,20}\bmean\b|\bmean\b.{0,30}\bstd\b",
    ),
    "batch_norm": (r"batch[ _-]?norm(?!.{0,12}fold)",),
    "rms_norm": (
        r"rms[ _-]?norm|\brms\b|root[ -]mean[ -]square|mean[ -]square|inverse root|(?:llama|t5)[ -]?norm",
        r"\b(?:llama|mistral|gemma|qwen|t5)\b.{0,40}norm|norm.{0,30}\b(?:llama|mistral|gemma|qwen|t5)\b",
        r"root of the mean of (?:the )?squares",
    ),
    "l2_norm": (
        r"l2[ -_]?norm|f\.normalize|nn\.functional\.normalize|unit (?:sphere|length|norm|vectors?|ball)|netvlad",
        r"cosine (?:similarity|embedding)|euclidean (?:length|norm)|vector_norm|linalg\.norm",
        r"(?:by|to) (?:its|their) length",
        r"length (?:one|1)\b|norm(?:ali[sz]ed?)? (?:of|to) (?:one|1)\b|normali[sz]ed? embeddings?",
        r"arcface|simclr|\bclip\b.{0,20}embed|face (?:embedding|descriptor)s?",
        r"retrieval (?:embedding|vector)s?|length of (?:each|every) (?:vector|row)|magnitude (?:one|1)",
        r"divid\w+ (?:each |every )?(?:row|vector)s? by (?:its|their) (?:l2|norm|length|magnitude)",
    ),
    "residual": (
        r"residual|skip connection|\bskip (?:add|path)\b|\badd[ -]?(?:\+|&|and)? ?(?:rms|norm|ln)\b|fused add",
        r"shortcut (?:branch|add)|x \+ (?:res|residual|skip|sublayer|attn)|skip (?:tensor|branch)",
    ),
    "matmul": (
        r"gemm|mat[ _-]?mul|\baddmm\b|\bbmm\b|linear\(|f\.linear|nn\.linear|\blinear layer|dense layer|perceptron",
        r"fully[ -]connected|\bfc\d?\b|\bmlp\b|matrix (?:product|multipl)|projection layer|\bffn\b|feed[ -]?forward",
        r"outer product|packed (?:panels|weights)|panels?\b|k split|split-?k|microkernel|hidden layer|affine layer",
        r"\bx ?w\^?t\b|mat-?vec|weights? (?:pre-?packed|matrix)",
        r"qkv projection|classifier head|autoencoder layer|lora|\bblas\b|dgemm|x ?@ ?w|weights?\.t\(\)",
        r"inner products|tall[ -]skinny|matrix[ -]matrix|dense matri|\bmm\b|flops? of peak",
    ),
    "relu": (
        r"\brelu\b|clamp(?:ed|ing)? (?:at|below) (?:0|zero)|cut(?:ting)? (?:the )?negatives?|max\(.{0,8}0\)|rectif",
        r"zero(?:ing)? (?:the )?negatives?|negatives? (?:to|become) (?:0|zero)",
    ),
    "conv": (
        r"conv\dd|\bconvolution|\bconv\b|im2col|filter bank|\bvgg\b|resnet (?:basic)?block|basicblock|winograd",
        r"bottleneck block|output channels|\bconvs\b|cnn layer|feature maps? (?:with|by) \dx\d filters?|convolve",
        r"\bu-?net\b|\byolo|\bcnn\b|dilated conv|strided conv|5x5 conv|alexnet",
        r"3x3,? (?:64|128|256|512)|\bcin\b.{0,30}\bcout\b",
        r"in[_ ]?ch.{0,20}out[_ ]?ch",
    ),
    "depthwise": (
        r"depth-?wise|\bdw\b|\bdwconv\b|groups ?== ?(?:in_)?channels?|mobile-?net|mbconv|efficientnet|convnext",
        r"groups ?= ?(?:c|ch|channels?|in_ch\w*)\b|per[ -]channel (?:\dx\d|filter|conv|kernel)|xception",
        r"channel-?wise (?:conv|filter)",
        r"\bper plane|over planes|for all c\b|(?:each|every) channel (?:with|by|has|convolved) |inverted residual",
        r"one (?:filter|kernel) (?:a|per) channel|channels? (?:separately|independently|do not mix)|no cross-channel",
        r"multiplier 1|separable (?:block|conv)|spatial (?:one|half|conv)|groups?=in",
        r"filter (?:per|for each) channel|channels? stays? separate",
    ),
    "pool_max": (
        r"max[ _-]?pool|resnet stem|\bmax\b.{0,60}\d+x\d+ ?-> ?\d+x\d+|strongest activation|pooled max",
        r"(?:max(?:imum)?|largest|biggest) (?:over|of|in) (?:each |a |every )?(?:\dx\d|windows?|neighbo|patch|block)",
        r"brightest|peak of each|\bmaxpool|kernel[_ ]size.{0,20}max\b|winner in each",
        r"max of (?:the )?(?:four|4|nine|9)|dominant (?:value|response)",
    ),
    "pool_avg": (
        r"(?:avg|average|mean)[ _-]?pool|mean over .{0,12}window.{0,20}stride|downsampl|downscal|subsampl",
        r"halve the resolution|half[ -](?:size|resolution)|non-?overlapping (?:patches|windows|blocks|tiles)",
        r"(?:mean|average) (?:over|of|in) (?:each|every) (?:\dx\d|window|patch|block|tile)|thumbnail|shrink",
        r"mip-?map|pyramid level|averag\w+ (?:2x2|4x4|four|4|the four)|\bavgpool|area (?:resize|interpol)",
        r"half the (?:width|height|resolution)",
    ),
    "box_blur": (
        r"box[ -_]?(?:blur|filter)|blurx|blur_?y|mean filter|\bblur|uniform .{0,6}filter|moving average|boxfilter",
        r"neighbou?rhood averag|smooth(?:ing)?\b|\dx\d (?:mean|average|blur)|sliding (?:mean|average)|halide paper",
        r"averaging filter|local mean|mean of (?:the )?(?:\dx\d|neighbou?rs|nine)",
        r"bokeh|denoise|mean of (?:its|the|nine|9) (?:neighbou?rs|pixels)",
        r"average (?:of|over) (?:its|the) neighbou?r|stencil of nine|3x3 window",
        r"horizontal(?:ly)? (?:and )?then vertical|5x5 mean|uniform_filter",
    ),
    "lut": (
        r"\blut\b|look-?up|tone (?:curve|map)|gamma|\bcurve\b|pshufb|gather table|colou?r map|palette|256[ -]entr",
        r"srgb|posteri[sz]e|solari[sz]e|sepia|equali[sz]ation table|table of 256|transfer function",
        r"indexed by (?:the )?pixel|256[ -]?(?:byte|value|element)",
    ),
    "bytes": (
        r"uint8|\bu8\b|\bbytes?\b|8[ -]?bit (?:image|pixel|pic)|\b0\.\.255\b|brighten",
        r"gr[ae]yscale 8|rgb888|\bpng\b|camera frames?|unsigned char|\bphoto\b",
    ),
    "cumsum": (
        r"cum(?:ulative )?sum|cum(?:ulative )?prod|cummax|prefix (?:sum|total|scan)|\bscan\b|running (?:total|sum)",
        r"accumulate\(|inclusive|exclusive|integral image|\bcdf\b|horizontal accumulation|np\.add\.accumulate",
        r"depends on the (?:one|element) before|every add waits|partial sums (?:of|along) |cumulative",
        r"stream compaction|ragged offsets|discounted (?:returns|rewards)|summed[ -]area",
        r"sum of everything (?:before|up to)|all (?:previous|earlier) (?:elements|values)",
        r"up to and including|carry (?:chain|dependency)|y\[i ?- ?1\]|recurrence",
    ),
    "reduce": (
        r"row[ -]?sums?\b|column sum|sums? (?:along|over|of|each|the|every)|(?<!shuffle )(?<!all)reduc(?:e|tion)",
        r"rfactor",
        r"collapsed over",
        r"mean (?:along|over|of) |(?:max|min)(?:imum)? (?:along|of each)|amax\b|global (?:average|mean)|tree the lanes",
        r"squeeze-and-excite|pooling to 1x1|totals? of each|row totals?|one (?:number|value|total) (?:per|a) row",
        r"horizontal reduction|norm of the whole|add(?:ing)? up (?:the|each|all|every)",
        r"dot product|checksum|\bvariance of|\bmean of (?:each|every)|grand total",
        r"one scalar (?:per|for each)|fold(?:ing)? (?:a|the) row|\bsum\(-?1\)",
        r"sum\(dim|mean\(dim|mean\(-1|average of each (?:row|channel)",
    ),
    "mse": (r"\bmse\b|mean squared error|squared error",),
    "activation": (
        r"gelu|\bsilu\b|swish|\bmish\b|\bselu\b|\belu\b|tanh|hyperbolic|0\.044715|sigmoid|softplus|geglu|swiglu|erf\b",
        r"activation func|\bactivations? (?:over|of|on) ",
        r"quick_gelu|squared relu|sigmoid linear|act_fn|nonlinearit|transcendental|expf\b|tanhf",
    ),
    "pointwise": (
        r"element-?wise|point-?wise|per-?element (?:formula|op)|chain of (?:ops|operators)|one read one write",
        r"scale, add, clamp|little kernels|fus(?:e|ing) (?:the )?(?:elementwise|small) |broadcast(?:ed)? (?:add|mul)",
        r"no temporaries|arithmetic chain|temporaries|without (?:writing )?intermediates?",
        r"alpha blend|\blerp\b|colou?r conversion|horner|normali[sz]e pixel|mul(?:tiply)?[ -]add|axpy",
        r"bias (?:and|\+) scale|launch(?:es)? (?:overhead|per op)|in one (?:fused )?(?:pass|kernel|loop)",
    ),
    "gather": (r"embedding (?:table|lookup)|gather rows|index_select|nn\.embedding\b",),
    "transpose": (r"out-of-place transpos|transposition|\bpermute\b .{0,12}contiguous",),
    "topk": (r"top-?k",),
    "sort": (r"\bargsort|\bsort(?:ing)?\b",),
    "fft": (r"\bfft|fourier",),
    "rope": (r"\brope\b|rotary",),
    "copy": (r"\bmemcpy|vectori[sz]ed copy|copy kernel|contiguous copy",),
}
"""Concept -> how people name it."""

_SQUARE = r"(?:pow\(2\)|\*\*\s*2|square\(|\(?\w+ ?\* ?\w+\)?)"
_CENTRED = r"- ?(?:mu|mean|m|avg)\b|- ?\w+\.mean\("
_SHIFTED = r"\[[^\]]*i ?: ?[^\]]*\+ ?i|\[[^\]]*i ?: ?i ?\+|dy ?: ?dy ?\+|ky ?: ?ky ?\+"
SPELLED: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
    ("attention", (r"(?:@|matmul|bmm|einsum)[\s\S]*softmax[\s\S]*(?:@|matmul|bmm|einsum)",), ()),
    ("attention", (r"softmax[\s\S]*(?:@ ?v\b|,\s*v\b)",), ()),
    ("softmax", (r"exp\(", r"/\s*\w*\.?(?:exp\(\))?\.?\w*\.?sum|\.div_?\([^)]*sum|/ ?(?:z|s|d|denom|total)\b"),
     (r"sigmoid",)),
    ("cross_entropy", (r"log_?soft_?max|logsumexp|log\(", r"gather|nll|range\(|take_along|target|label|\by\["), ()),
    ("rms_norm", (r"rsqrt|sqrt", _SQUARE + r"[\s\S]*mean|mean[\s\S]*" + _SQUARE), (_CENTRED + r"|var\b|var_mean",)),
    ("layer_norm", (r"mean\(", _CENTRED + r"|var\(|var_mean|std\("), (r"exp\(",)),
    ("l2_norm", (r"/ ?\w*\.?(?:torch\.)?(?:linalg\.)?(?:vector_)?norm\(|\.norm\([^)]*keepdim",), ()),
    ("l2_norm", (_SQUARE + r"\.?sum\([^)]*\)\)?\.?(?:r?sqrt|clamp)|r?sqrt\([\s\S]*" + _SQUARE + r"\.?sum\(",),
     (r"mean\(",)),
    ("matmul", (r"einsum\(\s*[\"']\s*\w+\s*,\s*\w+\s*->",), (r"softmax",)),
    ("matmul", (r"[\w)\]] ?@ ?\w|torch\.(?:mm|bmm|matmul|addmm)\(|self\.(?:fc|lin|linear|w)\d?\(",), (r"softmax",)),
    ("reduce", (r"einsum\(\s*[\"']\s*\w+\s*->\s*\w*[\"']",), ()),
    ("relu", (r"relu|clamp\(\s*(?:min\s*=\s*)?0|clamp_min\(\s*0|hardtanh\([^)]*0|where\([^)]*> ?0|maximum\([^)]*0",),
     ()),
    ("conv", (r"conv[123]d\(|\.conv\w*\(|einsum\(\s*[\"']oc",), ()),
    ("depthwise", (r"groups\s*=\s*(?!1\b)\w+",), ()),
    ("depthwise", (_SHIFTED, r"\* ?\w+\[[^\]]*(?:i|dy|ky)[^\]]*\]", r"sum\(|\+="), (r"einsum",)),
    ("box_blur", (r"(?:ones\([^)]*\)\s*/\s*\w+|full\([^)]*1\.? ?/)", r"conv"), ()),
    ("box_blur", (_SHIFTED, r"sum\(|\+=", r"/ ?9|/ ?25|// ?9|/ ?\(?k"), ()),
    ("box_blur", (r"(?:avg_pool2d|AvgPool2d)\([^)]*(?:stride\s*=\s*1\b|,\s*1\s*[,)])|cv2\.(?:blur|boxFilter)",), ()),
    ("pool_max", (r"unfold\(|::2|(?:view|reshape)\([^)]*2\s*,[^)]*2", r"amax|max(?:imum)?\("), (r"exp\(",)),
    ("pool_avg", (r"unfold\(", r"mean\(|sum\("), ()),
    ("pool_avg", (r"::2", r"\+", r"/ ?4|\* ?0?\.25"), ()),
    ("pool_avg", (r"(?:view|reshape)\([^)]*(?:2|// ?\w+)\s*,[^)]*2[^)]*\)[\s\S]*mean\(",), ()),
    ("lut", (r"\w+\[\(?[\w. +*/()]*(?:clamp|clip)[^\]]*\]|(?:gamma|curve|lut|table)\w*\[",), ()),
    ("cumsum", (r"cum(?:sum|prod|max)|\.accumulate\(|itertools\.accumulate",), ()),
    ("cumsum", (r"\w+[\[(][^\])=]*\b\w+ ?- ?1[^\])]*[\])] ?\+",), ()),
    ("reduce", (r"\.(?:sum|mean|amax|amin|prod|argmax|logsumexp)\(",),
     (r"exp\(|rsqrt|sqrt|unfold|softmax|norm|gather|/ ?\w+\.sum",)),
    ("activation", (r"gelu|tanh\(|sigmoid\(|silu|mish|softplus|hardswish|elu\(",), (r"conv|linear|softmax",)),
    ("pointwise", (r"clamp|relu6|where\(|sigmoid|exp\(|hardswish", r"[*+/]"),
     (r"conv|linear|softmax|sum\(|mean\(|@|matmul|\[",)),
]  # fmt: skip
"""Concept, patterns that all must be there, patterns that must not: how torch code writes it out."""

COVERS: dict[str, tuple[str, ...]] = {
    "attention": ("softmax", "matmul", "reduce", "pointwise", "l2_norm"),
    "cross_entropy": ("softmax", "reduce", "gather", "pointwise"),
    "softmax": ("reduce", "pointwise"),
    "layer_norm": ("reduce", "pointwise", "rms_norm", "l2_norm"),
    "rms_norm": ("reduce", "pointwise", "l2_norm"),
    "batch_norm": ("reduce", "pointwise"),
    "l2_norm": ("reduce", "pointwise"),
    "depthwise": ("conv", "reduce", "pointwise", "matmul"),
    "box_blur": ("conv", "reduce", "pool_avg", "depthwise", "pointwise", "matmul"),
    "pool_max": ("reduce", "pointwise"),
    "pool_avg": ("reduce", "pointwise"),
    "cumsum": ("reduce", "pointwise"),
    "conv": ("matmul", "reduce", "activation", "pointwise", "pool_max", "batch_norm"),
    "matmul": ("activation", "pointwise", "reduce"),
    "lut": ("pointwise", "gather", "reduce"),
    "mse": ("reduce",),
}
"""A concept -> those that are parts of it: they are dropped beside it."""
MINOR = frozenset({"relu", "residual", "bytes", "pointwise"})
"""Concepts that say less about the kind of work than others do."""
RELATED = {
    frozenset(pair): share
    for pair, share in {
        ("box_blur", "pool_avg"): 0.4,
        ("pool_max", "pool_avg"): 0.3,
        ("layer_norm", "rms_norm"): 0.4,
        ("layer_norm", "batch_norm"): 0.5,
        ("layer_norm", "l2_norm"): 0.2,
        ("activation", "pointwise"): 0.6,
        ("conv", "depthwise"): 0.3,
        ("softmax", "cross_entropy"): 0.2,
        ("softmax", "attention"): 0.3,
        ("reduce", "cumsum"): 0.1,
    }.items()
}
"""Pairs of concepts -> how far one answers for the other."""

LANGUAGE_HINTS: dict[str, str] = {
    "halide": r"\bhalide\b|\bschedul|\brdom\b|compute_(?:root|at|with)|store_at|\brfactor|constant_exterior|"
    r"\bfuncs?\b(?!\w)|\bupdate\(|\breorder\b|autoschedul",
    "cpp": r"c\+\+|\bcpp\b|\bgcc\b|\bclang\b|\bavx|\bymm|\bzmm|\bsse\d?\b|\bneon\b|intrinsic|pshufb|openmp|\bstd::",
    "torch": r"pytorch[ -](?:level|rewrite|only)|pure (?:pytorch|torch)|python[ -](?:level|only)|no custom kernels?|"
    r"mkldnn|onednn|\baten\b|channels_last|memory[ _]format|in-?place activation|torch\.compile",
    "cuda": r"\bcuda\b|warp|shared memory|\bsm_\d|__global__|cp\.async|thread ?block|\bgpu\b|h100|a100|4090",
    "cute": r"\bcute\b|cutlass|tiled_?mma|tma\b|wgmma",
    "thunderkittens": r"thunder ?kittens|\btk\b",
    "triton": r"\btriton\b|tl\.(?:load|dot)",
    "tilelang": r"tile-?lang",
}
"""Language -> words that only its people say."""
LANGUAGE_NAMES: dict[str, str] = {
    "halide": r"\bhalide\b", "cpp": r"\bc\+\+|\bcpp\b", "torch": r"pure (?:py)?torch",
    "cuda": r"\bcuda c\b|\bcuda kernel", "cute": r"\bcute\b", "thunderkittens": r"thunder ?kittens",
    "triton": r"\btriton\b", "tilelang": r"tile-?lang",
}  # fmt: skip
"""Language -> its name: who says it wants it."""


@lru_cache(maxsize=4096)
def concepts_of(text: str) -> frozenset[str]:
    """The concepts that a text or a piece of torch code is about."""
    plain = text.replace("\r", "")
    found = {name for name, pattern in _compiled().items() if pattern.search(plain)}
    for name, needed, never in SPELLED:
        if all(re.search(p, plain, re.IGNORECASE) for p in needed) and not any(
            re.search(p, plain, re.IGNORECASE) for p in never
        ):
            found.add(name)
    return without_parts(found)


def concepts_of_entry(title: str, aliases: Iterable[str]) -> frozenset[str]:
    """The concepts of an entry: its title's, and those of the aliases that are neither part of it nor hold it."""
    stated = concepts_of(title)
    named = frozenset().union(*(concepts_of(alias) for alias in aliases))
    parts = {part for name in stated for part in COVERS.get(name, ())}
    return stated | {c for c in named if c not in parts and not stated & set(COVERS.get(c, ()))}


def without_parts(found: Iterable[str]) -> frozenset[str]:
    """Concepts less those that are parts of another one among them."""
    names = set(found)
    parts = {part for name in names for part in COVERS.get(name, ())}
    return frozenset(names - parts) or frozenset(names)


def agreement(asked: frozenset[str], offered: Mapping[str, float] | frozenset[str]) -> float:
    """How well an entry's concepts answer a query's, 0 to 1: what is asked must be covered, what is beside it costs.

    Args:
        asked: the query's.
        offered: the entry's, with how surely it is about each.
    """
    if not asked or not offered:
        return 0.0
    sure = offered if isinstance(offered, Mapping) else dict.fromkeys(offered, 1.0)
    total = sum(_weight(c) for c in asked)
    covered = sum(_weight(c) * max(_share(c, o) * s for o, s in sure.items()) for c in asked)
    beside = sum(_weight(o) for o in sure if not any(_share(c, o) for c in asked))
    return covered / total * (1.0 - 0.3 * beside / (beside + total))


def language_hints(text: str) -> frozenset[str]:
    """The languages whose people would say this."""
    return frozenset(name for name, pattern in LANGUAGE_HINTS.items() if re.search(pattern, text, re.IGNORECASE))


def named_languages(text: str) -> frozenset[str]:
    """The languages that a text names."""
    return frozenset(name for name, pattern in LANGUAGE_NAMES.items() if re.search(pattern, text, re.IGNORECASE))


@lru_cache(maxsize=4096)
def _share(one: str, other: str) -> float:
    return 1.0 if one == other else RELATED.get(frozenset({one, other}), 0.0)


def _weight(concept: str) -> float:
    return 0.35 if concept in MINOR else 1.0


@lru_cache(maxsize=1)
def lexicon_version() -> str:
    """Changes with the lexicon: entries that were read through another one must be read again."""
    return content_hash([PHRASES, SPELLED, COVERS])


@lru_cache(maxsize=1)
def _compiled() -> dict[str, re.Pattern[str]]:
    return {name: re.compile("|".join(parts), re.IGNORECASE) for name, parts in PHRASES.items()}
