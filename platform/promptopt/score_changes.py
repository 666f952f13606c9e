"""What was measured between any two versions: directly, or step by step along the tree, by task family.

Owns which scores speak of a pair. A step that nobody measured is named, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kernelwright.promptopt.lineage import Lineage
from kernelwright.records import PromptScore


@dataclass(frozen=True)
class ScoredStep:
    """One comparison on the way."""

    version: str
    against: str
    score: PromptScore
    backwards: bool = False
    """True: the way leads from the version to what it was compared with, so its gains count with the other sign."""


@dataclass(frozen=True)
class FamilyChange:
    """What became of one task family."""

    gain: float
    """Sum of the mean differences in log speed-up, over the steps that were measured on it."""
    steps: int
    """How many these are."""


@dataclass(frozen=True)
class ScoreChange:
    """The scores between two versions."""

    steps: tuple[ScoredStep, ...] = ()
    unmeasured: tuple[str, ...] = ()
    """Versions on the way that were never compared with their parent."""
    of: int = 0
    """Steps of the way: 1 where the two were compared with each other."""
    families: dict[str, FamilyChange] = field(default_factory=dict)


def score_change(lineage: Lineage, old: str, new: str) -> ScoreChange:
    """What is known of the way from one version to another.

    Args:
        lineage: of the role.
        old, new: ids. Where they were compared with each other, only that counts; else the way leads up to the
            version that both come from, and down again.
    """
    direct = [*_compared(lineage, new, old), *_compared(lineage, old, new, backwards=True)]
    if direct or old == new:
        return ScoreChange(tuple(direct), of=len(direct[:1]), families=_by_family([direct]))
    up, down = ([v.id for v in lineage.ancestors(id)] for id in (old, new))
    shared = next((id for id in down if id in up), None)
    if shared is None:
        return ScoreChange()
    way = [(id, True) for id in up[: up.index(shared)]]
    way += [(id, False) for id in reversed(down[: down.index(shared)])]
    edges = [_compared(lineage, id, lineage.versions[id].parent, backwards=back) for id, back in way]
    return ScoreChange(
        steps=tuple(step for edge in edges for step in edge),
        unmeasured=tuple(id for (id, _), edge in zip(way, edges, strict=True) if not edge),
        of=len(way),
        families=_by_family(edges),
    )


def _compared(lineage: Lineage, version: str, other: str, *, backwards: bool = False) -> list[ScoredStep]:
    """The scores of a version against another one, oldest first."""
    known = lineage.versions.get(version)
    parent = known.parent if known is not None else ""
    found = (s for s in lineage.scores(version) if (s.against or parent) == other)
    return [ScoredStep(version, other, s, backwards) for s in found]


def _by_family(edges: Iterable[Sequence[ScoredStep]]) -> dict[str, FamilyChange]:
    """Of each step the latest word on a family, added up over the steps."""
    found: dict[str, FamilyChange] = {}
    for edge in edges:
        latest: dict[str, float] = {}
        for step in edge:
            latest |= {name: -g if step.backwards else g for name, g in step.score.families.items()}
        for name, gain in latest.items():
            before = found.get(name, FamilyChange(0.0, 0))
            found[name] = FamilyChange(round(before.gain + gain, 5), before.steps + 1)
    return dict(sorted(found.items()))
