"""What several sessions of measuring say together: a mean, and the interval in which a further session will find it.

Owns that statistic and what "found again" means. Pure arithmetic on numbers; it measures nothing and reads no file.

Rounds within one pair of processes say nothing about which pages a process gets or what the hour brings: two sessions
minutes apart may lie 20 % apart, each sure to within 1 %. So each session counts as one value, the logarithm of its
median, and what is stated is the interval for one further session at 95 %: mean +- t * s * sqrt(1 + 1/k), with s the
standard deviation between the k sessions and t Student's quantile for k - 1 degrees of freedom (Hahn and Meeker,
Statistical Intervals, 1991, section 4.7; as a prediction interval of random effects: Higgins, Thompson and
Spiegelhalter 2009, section 4.2). It is never narrower than what the sessions themselves leave open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from kernelwright.records import Interval, Ratio

T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""Student's t at 97.5 % for 1, 2, ... degrees of freedom; beyond the last one it is used still, which is too wide."""
LEAST = 3
"""Sessions from which an interval says something: of two, Student's quantile is 12.7."""


def ratio_over(sessions: Sequence[Ratio]) -> Ratio:
    """The geometric mean of one ratio's sessions with the interval for a further one; a single one stays as it is.

    Args:
        sessions: one a session, all over the same thing.
    """
    if len(sessions) == 1:
        return sessions[0]
    centre, half = _further([math.log(r.value) for r in sessions], [math.log(r.high / r.low) / 2 for r in sessions])
    return Ratio(
        value=math.exp(centre),
        low=math.exp(centre - half),
        high=math.exp(centre + half),
        pairs=sum(r.pairs for r in sessions),
        sessions=len(sessions),
        against=sessions[0].against,
    )


def time_over(sessions: Sequence[Interval]) -> Interval:
    """The same of one time: the geometric mean of the medians."""
    if len(sessions) == 1:
        return sessions[0]
    centre, half = _further([math.log(t.median) for t in sessions], [math.log(t.high / t.low) / 2 for t in sessions])
    return Interval(
        median=math.exp(centre),
        low=math.exp(centre - half),
        high=math.exp(centre + half),
        samples=sum(t.samples for t in sessions),
        sessions=len(sessions),
    )


def _further(values: Sequence[float], within: Sequence[float]) -> tuple[float, float]:
    """Mean, and half the width of the interval for one further value.

    Args:
        values: one a session.
        within: half the width of each session's own interval.
    """
    count = len(values)
    quantile = T_975[min(count - 1, len(T_975)) - 1]
    between = quantile * stdev(values) * math.sqrt(1 + 1 / count)
    return fmean(values), max(between, fmean(within))


def found_again(stated: Interval | Ratio, found: Interval | Ratio, noise: float) -> bool:
    """True when a new session contradicts nothing.

    What rests on several sessions states where the next one will lie: the new value, not only an end of its
    interval, must lie there. What rests on one session says nothing of others: the new interval must meet the stated
    one, widened by ``noise`` to both sides.

    Args:
        stated: what the file says.
        found: what a new session gave.
        noise: share by which the stated interval is widened: for one session, and for whatever no set of sessions
            of one day has seen.
    """
    low, high = stated.low * (1 - noise), stated.high * (1 + noise)
    if stated.sessions > 1:
        return low <= value_of(found) <= high
    return found.low <= high and found.high >= low


def value_of(number: Interval | Ratio) -> float:
    """The middle of a number."""
    return number.median if isinstance(number, Interval) else number.value


def width(number: Interval | Ratio) -> float:
    """How wide its interval is: 0.1 means that the high end is 10 % above the low one."""
    return number.high / number.low - 1


def told(number: Interval | Ratio, unit: str) -> str:
    """A number in words: value, interval, what it rests on, and whether it shows anything."""
    text = f"{value_of(number):.4g}{unit} [{number.low:.4g}, {number.high:.4g}]"
    if number.sessions > 1:
        text += f" over {number.sessions} sessions"
    if isinstance(number, Ratio) and not number.shown:
        text += ", no difference shown"
    return text
