"""What the rules of scheduling suggest for a pipeline, as Decisions with a prediction: the planner without precedent.

Rules look at the algorithm's structure alone. Predicted gains are over the plain schedule and are rough on purpose:
the reflector compares them with what was measured.
"""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.records import Decision, Directive
from kernelwright.records.pipeline import Pipeline, walk
from kernelwright.search.structure import Structure
from kernelwright.search.tiling import rows_dim


def _directive(func: str, verb: str, *args: object) -> Directive:
    return Directive(func=func, verb=verb, args=args)


def propose(pipeline: Pipeline) -> list[Decision]:
    """Decisions for a pipeline, largest predicted gain first; they may not all fit."""
    structure = Structure(pipeline)
    decisions = [d for rule in RULES for d in rule(structure)]
    return sorted(decisions, key=lambda d: -(d.predicted_speedup or 1.0))


def _decision(
    technique: str,
    summary: str,
    directives: list[Directive],
    *,
    bottleneck: str,
    hypothesis: str,
    predicted: float,
    where: str = "whole kernel",
) -> Decision:
    return Decision(
        technique=technique,
        summary=summary,
        where=where,
        bottleneck=bottleneck,
        evidence="structure of the pipeline",
        hypothesis=hypothesis,
        predicted_speedup=predicted,
        directives=tuple(directives),
        source="search",
    )


def rule_pointwise(structure: Structure) -> list[Decision]:
    """One vectorised pass where everything is element by element."""
    if structure.reductions or structure.scans:
        return []
    return [
        _decision(
            "fuse-pointwise",
            "Compute the whole element-wise chain in one vectorised, unrolled pass over the output",
            [_directive("@elementwise", "pointwise", "$LANES", "$UNROLL")],
            bottleneck="memory",
            hypothesis="Every input is read once and every output written once",
            predicted=1.1,
        )
    ]


def rule_rows(structure: Structure) -> list[Decision]:
    """Row statistics at the row."""
    if not structure.rowstats or structure.scans:
        return []
    rows = _directive("@rowstats", "rows", "$LANES", "$UNROLL", "$TILE")
    made = [
        _decision(
            "row-at-a-time",
            "Compute each row's statistics right where the row is used, with vectorised partial sums",
            [rows],
            where=", ".join(structure.rowstats),
            bottleneck="memory",
            hypothesis="A row stays in cache between its passes, so memory is read once",
            predicted=3.0,
        )
    ]
    shared = [n for n in structure.funcs if _shared(structure, n)]
    if shared:
        made.append(
            _decision(
                "store-row-intermediate",
                f"As row-at-a-time, and keep {', '.join(shared)} of the row instead of computing it twice",
                [_directive("@shared", "store"), rows],
                where=", ".join(shared),
                bottleneck="compute",
                hypothesis="A costly element is computed once and read back from the nearest cache",
                predicted=3.3,
            )
        )
    return made


def _shared(structure: Structure, name: str) -> bool:
    func = structure.funcs[name]
    if func.updates or name in structure.pipeline.outputs or not func.dims:
        return False
    return len(structure.pipeline.consumers(name)) > 1 and any(n[0] == "call" for n in walk(func.value))


def rule_scan(structure: Structure) -> list[Decision]:
    """Several rows of a scan at once."""
    if not structure.scans:
        return []
    return [
        _decision(
            "scan-rows-together",
            "Run the scans of several rows interleaved",
            [_directive("@scans", "scan", "$ROWS")],
            where=", ".join(structure.scans),
            bottleneck="latency",
            hypothesis="An addition need not wait for the last one of its own row: other rows fill the pipeline",
            predicted=1.5,
        )
    ]


def rule_window(structure: Structure) -> list[Decision]:
    """Windows in registers, or in two passes."""
    if not structure.pools:
        return []
    made = [
        _decision(
            "window-in-registers",
            "Compute windows a few vectors at a time, the taps written out and kept in registers",
            [_directive("@pools", "window", "$LANES", "$STRIP", "$HIGH")],
            where=", ".join(structure.pools),
            bottleneck="overhead",
            hypothesis="No partial result goes through memory and no loop is left around the taps",
            predicted=4.0,
        )
    ]
    one_pass = _directive("@pools", "rewrite", "expand_window")
    made.append(
        _decision(
            "window-written-out",
            "Write the window out as one expression and compute a strip of vectors some rows high at a time",
            [one_pass, _directive("@pure_output", "strip", "$LANES", "$STRIP", "$HIGH")],
            where=", ".join(structure.pools),
            bottleneck="overhead",
            hypothesis="Neighbouring results share their loads in registers",
            predicted=4.2,
        )
    )
    made.append(
        _decision(
            "separable-window",
            "Cut the window in two one-dimensional passes; slide the first down a tile of the second",
            [
                _directive("@pools", "rewrite", "separable_window"),
                one_pass,
                _directive("@passes", "store"),
                _directive("@passes", "slide", "$LANES", "$TILE_X", "$TILE_Y"),
            ],
            where=", ".join(structure.pools),
            bottleneck="compute",
            hypothesis="k + k operations a point instead of k * k, and the first pass stays in the nearest cache",
            predicted=4.5,
        )
    )
    return made


def rule_products(structure: Structure) -> list[Decision]:
    """Register tiles."""
    made = []
    if len(structure.products) >= 2 and structure.rowstats:
        made.append(
            _decision(
                "attention-blocks",
                "Do both products and the row statistics between them for a block of rows at a time",
                [
                    _directive("@packable", "store"),
                    _directive("@rowstats", "rows", "$LANES", "$UNROLL"),
                    _directive("@products", "attention", "$LANES", "$WIDTH", "$HEIGHT", "$BLOCK"),
                ],
                where=", ".join(structure.products),
                bottleneck="memory",
                hypothesis="Scores and weights of a block stay in cache",
                predicted=1.4,
            )
        )
    if structure.products:
        made.append(
            _decision(
                "dot-product-tile",
                "Keep a tile of dot products in registers, each a vector of partial sums along the reduction",
                [_directive("@products", "dot_tile", "$LANES", "$COLUMNS", "$LINES")],
                where=", ".join(structure.products),
                bottleneck="compute",
                hypothesis="Where both operands lie along the sum, as in a linear layer, nothing has to be packed",
                predicted=1.35,
            )
        )
        tile = _directive("@products", "register_tile", "$LANES", "$WIDTH", "$HEIGHT")
        made.append(
            _decision(
                "packed-register-tile",
                "Keep a tile of sums in registers over the whole reduction, with the vectors' operand packed by panels",
                [_directive("@packable", "store"), tile],
                where=", ".join(structure.products),
                bottleneck="compute",
                hypothesis="One load feeds several fused multiply-adds, and panels are contiguous",
                predicted=1.3,
            )
        )
    return made


def rule_convolutions(structure: Structure) -> list[Decision]:
    """Direct convolution."""
    dense = [n for n in structure.convolutions if rows_dim(structure, n)]
    thin = [n for n in structure.convolutions if n not in dense]
    made = []
    if dense:
        made.append(
            _decision(
                "direct-convolution",
                "Keep some output channels times a strip of vectors in registers over all taps and input channels",
                [_directive("@dense", "conv_tile", "$LANES", "$STRIP", "$CHANNELS")],
                where=", ".join(dense),
                bottleneck="compute",
                hypothesis="Each input vector serves several channels, each weight several points",
                predicted=1.2,
            )
        )
    if thin:
        made.append(
            _decision(
                "depthwise-in-registers",
                "Write out the window of each channel and keep sums in registers",
                [_directive("@depthwise", "window", "$LANES", "$STRIP", "$HIGH")],
                where=", ".join(thin),
                bottleneck="overhead",
                hypothesis="No partial sum goes through memory",
                predicted=8.0,
            )
        )
    return made


RULES: tuple[Callable[[Structure], list[Decision]], ...] = (
    rule_pointwise,
    rule_rows,
    rule_scan,
    rule_window,
    rule_products,
    rule_convolutions,
)
