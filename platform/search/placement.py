"""Where a Func can be computed inside its consumers, and with which order of their loops.

Owns the question "which loops of the consumer does this Func's value move with?": the others go inside the place where
it is computed, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelwright.search.plan import Factor, Plan
from kernelwright.search.structure import coefficient, depends

NARROW = 8
"""Loops shorter than this are not worth vectorising by themselves."""


@dataclass
class Tie:
    """How a Func hangs on an anchor: its dimension -> variables of the anchor that it moves with."""

    anchor: str
    stage: int
    moves: dict[str, set[str]] = field(default_factory=dict)
    direct: dict[str, str] = field(default_factory=dict)
    """Dimension -> the one variable that it equals, up to an offset."""

    def variables(self) -> set[str]:
        """All variables of the anchor that the Func moves with."""
        return set().union(*self.moves.values()) if self.moves else set()


def root_anchor(plan: Plan, name: str) -> str | None:
    """The one Func that everything which uses a Func is, or is computed in; None when there are several."""
    found: set[str] = set()
    for user in plan.structure.users(name):
        home = user
        while home in plan.homes:
            home = plan.homes[home][0]
        found.add(home)
    return found.pop() if len(found) == 1 else None


def tie(plan: Plan, name: str, anchor: str, ties: dict[str, Tie]) -> Tie | None:
    """How a Func moves with the loops of its anchor; None when stages of the anchor differ on it.

    Args:
        plan: the schedule so far.
        name: the Func.
        anchor: what it is to be computed in.
        ties: those of its users that are computed in the anchor themselves.
    """
    dims = [d.name for d in plan.func(name).dims]
    result: Tie | None = None
    for user in plan.structure.users(name):
        for access in plan.structure.accesses(user):
            if access.callee != name:
                continue
            above = ties.get(user) if user != anchor else None
            if user != anchor and above is None:
                return None
            stage = access.stage if above is None else above.stage
            if result is None:
                result = Tie(anchor, stage, {d: set() for d in dims}, {})
            if result.stage != stage:
                return None
            for dim, index in zip(dims, access.index, strict=True):
                variables = depends(index)
                if above is None:
                    moved = variables
                    equal = next(iter(variables)) if len(variables) == 1 else ""
                else:
                    moved = set().union(*(above.moves.get(v, set()) for v in variables)) if variables else set()
                    equal = above.direct.get(next(iter(variables)), "") if len(variables) == 1 else ""
                if equal and len(variables) == 1 and coefficient(index, next(iter(variables))) != 1:
                    equal = ""
                result.moves[dim] |= moved
                if equal and result.direct.get(dim, equal) == equal:
                    result.direct[dim] = equal
    return result


def place_in_rows(plan: Plan, names: Sequence[str], *, lanes: Factor, unroll: Factor, tile: Factor) -> list[str]:
    """Place statistics (and the stored Funcs they read) in the loops of what uses them.

    Returns:
        The Funcs placed, consumers first; [] when none could be.
    """
    order = [n for n in reversed(list(plan.structure.funcs)) if n in plan.structure.stored]
    heavy = {*plan.structure.products, *plan.structure.convolutions}
    near = {n for h in heavy for n in [*plan.structure.users(h), *(a.callee for a in plan.structure.accesses(h))]}
    wanted = set(names) | {
        n for n in order if not plan.func(n).updates and n not in plan.pipeline.outputs and n not in near
    }
    placed: list[str] = []
    ties: dict[str, Tie] = {}
    groups: dict[str, list[str]] = {}
    for name in order:
        if name not in wanted or name in plan.done or name in plan.pipeline.outputs:
            continue
        anchor = root_anchor(plan, name)
        if anchor is None or anchor in heavy:
            continue
        found = tie(plan, name, anchor, ties)
        if found is None:
            continue
        ties[name] = found
        plan.homes[name] = (anchor, "")
        groups.setdefault(anchor, []).append(name)
    for anchor, members in groups.items():
        placed += _place_group(plan, anchor, members, ties, lanes=lanes, unroll=unroll, tile=tile)
    return [n for n in placed if n in set(names)] and placed


def _place_group(
    plan: Plan,
    anchor: str,
    members: Sequence[str],
    ties: dict[str, Tie],
    *,
    lanes: Factor,
    unroll: Factor,
    tile: Factor,
) -> list[str]:
    """Order the anchor's loops and place all its members at one of them."""
    stage = ties[members[0]].stage
    members = [m for m in members if ties[m].stage == stage]
    loops = list(plan.loops(anchor, stage))
    statistics = [m for m in members if plan.func(m).updates]
    kept = set().union(*(ties[m].variables() for m in statistics or members))
    inside = [v for v in loops if v not in kept]
    outside = [v for v in loops if v in kept]
    along = ""
    for member in statistics:
        best = best_variable(plan, member)
        if best in ties[member].direct:
            along = ties[member].direct[best]
            break
    if along and along in outside:
        outer, inner = plan.split(anchor, along, tile, stage=stage)
        inside = [inner, *inside]
        outside = [outer if v == along else v for v in outside]
    plan.reorder(anchor, [*inside, *outside], stage=stage)
    level = outside[0] if outside else ""
    for member in members:
        if not level:
            plan.homes.pop(member, None)
            plan.root(member)
        else:
            plan.at(member, anchor, level)
        if member in statistics:
            _vectorize_member(plan, member, ties[member], along, lanes=lanes, unroll=unroll)
    _finish_anchor(plan, anchor, stage, inside, outside, lanes=lanes)
    return list(members)


def _vectorize_member(plan: Plan, name: str, own: Tie, along: str, *, lanes: Factor, unroll: Factor) -> None:
    """Vectorise a placed statistic along the anchor's tile, or else by itself."""
    across = [d for d, v in own.direct.items() if v == along] if along else []
    if not across:
        vectorize_reduction_of(plan, name, lanes, unroll)
        return
    dim, stage = across[0], plan.structure.last_stage(name)
    reduced = [d.name for d in plan.func(name).updates[stage - 1].domain]
    plan.add(name, "vectorize", dim, lanes)
    plan.reorder(name, [dim, *reduced], stage=stage)
    plan.add(name, "vectorize", dim, lanes, stage=stage)


def _finish_anchor(
    plan: Plan, anchor: str, stage: int, inside: Sequence[str], outside: Sequence[str], *, lanes: Factor
) -> None:
    """Vectorise the anchor's innermost loop, share its outermost among threads."""
    loops = plan.loops(anchor, stage)
    first = next(iter(loops), "")
    func = plan.func(anchor)
    reduction = bool(func.updates)
    if first and loops[first] >= NARROW and not reduction and (first in inside):
        plan.vectorize(anchor, first, lanes, stage=stage)
    if outside and not reduction and stage == 0:
        plan.parallel(anchor, outside[-1])
    if not reduction and anchor not in plan.done:
        plan.done.add(anchor)
        if anchor not in plan.pipeline.outputs and anchor not in plan.homes:
            plan.root(anchor)


def vectorize_reduction_of(plan: Plan, name: str, lanes: Factor, unroll: Factor) -> None:
    """Vectorise a reduction whose place is decided: along a contiguous reduction variable by partial results, along
    a contiguous dimension of its own otherwise."""
    func, stage = plan.func(name), plan.structure.last_stage(name)
    along = best_variable(plan, name)
    reduced = {d.name for d in func.updates[stage - 1].domain}
    pure = [d.name for d in func.dims]
    if along in reduced:
        plan.add(name, "vectorize_reduction", along, lanes, unroll, stage=stage)
        return
    if along in pure:
        plan.vectorize(name, along, lanes)
        loops = list(plan.loops(name, stage))
        plan.reorder(name, [along, *[v for v in loops if v in reduced]], stage=stage)
        plan.vectorize(name, along, lanes, stage=stage)


def best_variable(plan: Plan, name: str) -> str:
    """The variable along which a reduction's stage reads the most at stride 1; "" when there is none."""
    stage = plan.structure.last_stage(name)
    loops = plan.loops(name, stage)
    weights = {v: w for v, w in plan.structure.contiguous(name, stage).items() if loops.get(v, 0) >= NARROW}
    return max(weights, key=lambda v: (weights[v], -list(loops).index(v))) if weights else ""
