"""Are indices right that differ from the reference's? They are, where they select equal elements. Pure numpy.

Owns what integers may be indices into. Whether they are right otherwise is numerics.py's.
"""

from __future__ import annotations

import numpy as np

from kernelwright.toolexec.precision import Array


def selects_equal(got: Array, right: Array, source: Array) -> bool:
    """Do indices select, everywhere, elements equal to those that the right ones select?

    Args:
        got: integers.
        right: what the reference returned.
        source: floats that they may be indices into: along one axis (kept or dropped; each index at most once where
            there are several, as for a sort), into all of it (one index), or into its planes, as pooling does.
    """
    if got.shape != right.shape or got.dtype.kind != "i" or not got.size or not source.ndim:
        return False
    for axis in range(source.ndim):
        kept = right.ndim == source.ndim
        mine, theirs = (got, right) if kept else (np.expand_dims(a, min(axis, right.ndim)) for a in (got, right))
        others = [n for i, n in enumerate(source.shape) if i != axis]
        if mine.ndim != source.ndim or [n for i, n in enumerate(mine.shape) if i != axis] != others:
            continue
        once = mine.shape[axis] == 1 or bool(np.diff(np.sort(mine, axis=axis), axis=axis).all())
        if once and _same_elements(mine, theirs, source, axis):
            return True
    lead = 0 if right.size == 1 else 2
    if lead == 2 and not (right.ndim == source.ndim >= 4 and right.shape[:2] == source.shape[:2]):
        return False
    mine, theirs, flat = (a.reshape(*a.shape[:lead], -1) for a in (got, right, source))
    return _same_elements(mine, theirs, flat, lead)


def _same_elements(mine: Array, theirs: Array, source: Array, axis: int) -> bool:
    end = source.shape[axis]
    if min(mine.min(), theirs.min()) < 0 or max(mine.max(), theirs.max()) >= end:
        return False
    mine, theirs = (a.astype(np.intp) for a in (mine, theirs))
    return np.array_equal(np.take_along_axis(source, mine, axis), np.take_along_axis(source, theirs, axis))
