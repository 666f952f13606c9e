"""What a sentence in the prompt does: blocked least squares over random draws, and paired differences.

Owns every statistic of prompts. Scores are log speed-ups; tasks differ far more than any sentence does, so draws are
compared within a block (a task) only. What was left out at random gives an unbiased difference whatever else the prompt
said; intervals are Student's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from kernelwright.records import LessonDraw, LessonEffect

MIN_DOF = 5
"""Degrees of freedom below which lessons are estimated one at a time."""


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences with its interval."""

    mean: float
    low: float
    high: float
    n: int


def t_quantile(p: float, dof: int) -> float:
    """Student's t: exact for 1 and 2 degrees of freedom, else Cornish-Fisher to the third order (A&S 26.7.5).

    Off by less than 1 % from 3 degrees of freedom on, for p up to 0.999.
    """
    if dof <= 0:
        return math.inf
    if dof == 1:
        return math.tan(math.pi * (p - 0.5))
    if dof == 2:
        a = 2 * p - 1
        return a * math.sqrt(2 / (1 - a * a))
    z = NormalDist().inv_cdf(p)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / dof + second / dof**2 + third / dof**3


def paired(differences: Sequence[float], *, confidence: float = 0.95) -> Difference:
    """Mean difference with its two-sided t interval; of fewer than two the interval is the whole line."""
    n = len(differences)
    if n < 2:
        mean = differences[0] if differences else 0.0
        return Difference(mean, -math.inf, math.inf, n)
    mean = math.fsum(differences) / n
    spread = math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / (n - 1) / n)
    half = t_quantile(0.5 + confidence / 2, n - 1) * spread
    return Difference(mean, mean - half, mean + half, n)


def lesson_effects(
    draws: Sequence[LessonDraw], *, confidence: float = 0.95, method: str = "holdout"
) -> dict[str, LessonEffect]:
    """For each lesson that was both shown and left out in one block: what showing it changed.

    Args:
        draws: those with a score count.
        confidence: of the intervals.
        method: how the draws came about, as :class:`LessonEffect` names it.
    """
    import numpy as np

    scored = [d for d in draws if d.score is not None]
    names = sorted({name for d in scored for name in (*d.shown, *d.left_out)})
    if not scored or not names:
        return {}
    column = {name: i for i, name in enumerate(names)}
    shown = np.zeros((len(scored), len(names)), dtype=bool)
    drawn = np.zeros((len(scored), len(names)), dtype=bool)
    for row, draw in enumerate(scored):
        shown[row, [column[n] for n in draw.shown]] = True
        drawn[row, [column[n] for n in (*draw.shown, *draw.left_out)]] = True
    blocks = np.unique([d.block for d in scored], return_inverse=True)[1]
    score = np.array([d.score for d in scored], dtype=float)
    # Less the chance of being shown, and 0 where nothing was drawn: a lesson that came or went with time compares
    # nothing then, and only the random draws speak.
    chance = np.array([1.0 - d.share for d in scored])[:, None]
    x, y = _centred((shown - chance) * drawn, blocks), _centred(score[:, None], blocks)[:, 0]
    free = len(scored) - int(blocks.max()) - 1
    moves = np.flatnonzero((x**2).sum(axis=0) > 1e-9)
    fit = _joint if free - len(moves) >= MIN_DOF else _one_at_a_time
    found = {}
    for index, estimate, error, dof in fit(x, y, moves, free):
        half = t_quantile(0.5 + confidence / 2, dof) * error
        on = int(shown[:, index].sum())
        found[names[index]] = LessonEffect(
            estimate=round(estimate, 5),
            low=round(estimate - half, 5),
            high=round(estimate + half, 5),
            shown=on,
            left_out=int(drawn[:, index].sum()) - on,
            method=method,
        )
    return found


def _centred(values: Any, blocks: Any) -> Any:
    """Values less their block's mean. values: [draws, columns] float64, blocks: [draws] int."""
    import numpy as np

    count = np.bincount(blocks).astype(float)
    sums = np.zeros((len(count), values.shape[1]))
    np.add.at(sums, blocks, values)
    return values - (sums / count[:, None])[blocks]


def _joint(x: Any, y: Any, moves: Any, free: int) -> list[tuple[int, float, float, int]]:
    """Ordinary least squares over all lessons at once; those that cannot be told apart are left out."""
    import numpy as np

    x = x[:, moves]
    gram = x.T @ x
    inverse = np.linalg.pinv(gram, rcond=1e-9, hermitian=True)
    rank = int(np.linalg.matrix_rank(gram, hermitian=True))
    beta = inverse @ (x.T @ y)
    dof = free - rank
    variance = float(((y - x @ beta) ** 2).sum()) / dof
    told_apart = np.abs(np.diag(inverse @ gram) - 1.0) < 1e-6
    errors = np.sqrt(np.maximum(np.diag(inverse), 0.0) * variance)
    return [
        (int(moves[i]), float(beta[i]), float(errors[i]), dof) for i in range(len(moves)) if told_apart[i]
    ]


def _one_at_a_time(x: Any, y: Any, moves: Any, free: int) -> list[tuple[int, float, float, int]]:
    """Each lesson alone: unbiased because the others were drawn independently of it, only wider."""
    found = []
    for i in moves:
        column = x[:, i]
        energy = float(column @ column)
        beta = float(column @ y) / energy
        dof = free - 1
        if dof >= 1:
            variance = float(((y - beta * column) ** 2).sum()) / dof
            found.append((int(i), beta, math.sqrt(variance / energy), dof))
    return found
