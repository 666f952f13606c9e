"""What the rules of scheduling suggest for a pipeline, as Decisions with a prediction: the planner without precedent.

Rules look at the algorithm's structure alone. Predicted gains are over the plain schedule and are rough on purpose:
the reflector compares them with what was measured.
"""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.records import Decision, Directive
from kernelwright.records.pipeline import Pipeline, walk
from kernelwright.search.structure import Structure


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
            [_directive("@pure_output", "pointwise", "$LANES", "$UNROLL")],
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
            [_directive("@pools", "window", "$LANES", "$WIDE", "$HIGH")],
            where=", ".join(structure.pools),
            bottleneck="overhead",
            hypothesis="No partial result goes through memory and no loop is left around the taps",
            predicted=4.0,
        )
    ]
    return made


RULES: tuple[Callable[[Structure], list[Decision]], ...] = (rule_pointwise, rule_rows, rule_scan, rule_window)
