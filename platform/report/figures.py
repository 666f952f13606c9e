"""Numbers as people read them: times, speed-ups with their intervals, bytes, durations.

Owns rounding and units, so that a number looks the same in the terminal, in report.md and in report.html. It computes
one thing only: the weighted geometric mean of paired ratios over workloads. It reads records and touches no file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kernelwright.records import Evaluation, Interval, Ratio, Workload
from kernelwright.records.wording import format_count as format_count

_UNITS = (("s", 1e6), ("ms", 1e3), ("us", 1.0), ("ns", 1e-3))
NOTHING = "-"
"""What stands where there is no number."""


def short_id(identity: str | None) -> str:
    """The first eight digits of a content hash: enough within one run."""
    return identity[:8] if identity else NOTHING


def significant(value: float, digits: int = 3) -> str:
    """A number with ``digits`` significant digits and no exponent: 0.162, 6.95, 43.2, 6950."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    if rounded:  # 9.996 rounds to 10.0, which has a digit more before the point
        decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(0, decimals)}f}"


def time_unit(times_us: Iterable[float]) -> str:
    """The unit for a column of times: the largest in which the smallest time is at least a tenth."""
    smallest = min((t for t in times_us if t > 0), default=1e3)
    return next((name for name, us in _UNITS if smallest >= 0.1 * us), "ns")


def format_time(time_us: float | None, unit: str | None = None) -> str:
    """A time with its unit, e.g. ``0.162 ms``; the unit is chosen by size when None."""
    if time_us is None:
        return NOTHING
    unit = unit or time_unit([time_us])
    return f"{significant(time_us / dict(_UNITS)[unit])} {unit}"


def format_interval(interval: Interval, unit: str | None = None) -> str:
    """A median with its 95 % interval, e.g. ``0.162 ms [0.161, 0.164]``."""
    unit = unit or time_unit([interval.median])
    scale = dict(_UNITS)[unit]
    low, high = significant(interval.low / scale), significant(interval.high / scale)
    return f"{format_time(interval.median, unit)} [{low}, {high}]"


def format_factor(value: float, decimals: int | None = None) -> str:
    """A factor without its interval: ``1.31x``, ``43.2x``, ``310x``."""
    if decimals is None:
        decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f}x"


def format_ratio(ratio: Ratio | None) -> str:
    """A speed-up with its 95 % interval: ``1.31x [1.29, 1.33]``.

    A third decimal comes in where two would hide what the interval says (``1.004x [1.001, 1.007]``).
    """
    if ratio is None:
        return NOTHING
    decimals = 3 if ratio.value < 0.2 else 2 if ratio.value < 10 else 1 if ratio.value < 100 else 0
    if abs(ratio.value - 1) < 0.05 and (ratio.high - ratio.low < 0.02 or ratio.shown):
        decimals = 3
    return f"{format_factor(ratio.value, decimals)} [{ratio.low:.{decimals}f}, {ratio.high:.{decimals}f}]"


def format_seconds(seconds: float) -> str:
    """A duration: ``40 ms``, ``4.2 s``, ``3 min 12 s``, ``1 h 02 min``."""
    if seconds < 0.0995:
        return f"{seconds * 1e3:.0f} ms" if seconds >= 0.001 or seconds == 0 else "< 1 ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def format_bytes(count: float) -> str:
    """Bytes in binary units: ``8.0 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.{0 if unit == 'B' or count == int(count) else 1}f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def format_share(part: float | None) -> str:
    """A share of the machine's floor or of a total: ``0.78``."""
    return NOTHING if part is None else f"{part:.2f}"


def workload_weights(workloads: Iterable[Workload]) -> dict[str, float]:
    """Workload name -> its weight in the objective."""
    return {w.name: w.weight for w in workloads}


def ratio_over(evaluation: Evaluation, baseline: str, weights: Mapping[str, float]) -> Ratio | None:
    """Speed-up over one baseline: weighted geometric mean over the workloads.

    The judge's own figure is used where it is against this baseline. Otherwise the workloads' intervals are combined
    as independent errors of their logarithms: half-width = sqrt(sum((w * h)^2)) / sum(w), below and above apart.

    Args:
        evaluation: a verdict; ratios exist only where it is measured and PASSED.
        baseline: name of the baseline.
        weights: workload -> weight; a missing one counts 1.

    Returns:
        The ratio, or None when this baseline was not timed beside it on every workload.
    """
    if evaluation.speedup is not None and evaluation.speedup.against == baseline:
        return evaluation.speedup
    found = [(weights.get(w.workload, 1.0), r) for w in evaluation.workloads for r in w.ratios if r.against == baseline]
    if not found or len(found) < len(evaluation.workloads):
        return None
    total = sum(weight for weight, _ in found)
    log_value = sum(weight * ratio.log for weight, ratio in found) / total
    below = math.hypot(*(w * (r.log - math.log(r.low)) for w, r in found)) / total
    above = math.hypot(*(w * (math.log(r.high) - r.log) for w, r in found)) / total
    return Ratio(
        value=math.exp(log_value),
        low=math.exp(log_value - below),
        high=math.exp(log_value + above),
        pairs=min(r.pairs for _, r in found),
        against=baseline,
    )
