"""Roles in recipes, bound to the Funcs of a concrete pipeline.

A recipe says ``@rowstats`` or ``@output`` where a schedule says ``softmax_sum``; dimensions are named by position
anyway (x innermost). A role with a ``?`` behind it may have no match. Owns the roles' meaning and the order in which a
recipe is carried out: rewrites of the algorithm, then which pure Funcs are stored, then places and loops, then what
the recipe left open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelwright.records import Directive
from kernelwright.records.pipeline import Pipeline, walk
from kernelwright.search.plan import Plan
from kernelwright.search.rewrites import REWRITES
from kernelwright.search.strategies import MOVES, pointwise, reduce_alone, scan
from kernelwright.search.structure import Structure
from kernelwright.search.tiling import conv_tile, operands, packable, register_tile, rows_dim

COSTLY = 10
"""Operations a point from which a pure Func that is used twice is worth storing."""


class RecipeError(Exception):
    """The recipe does not fit this pipeline; the message says which Directive and why."""


def _pure(structure: Structure) -> list[str]:
    return [n for n, f in structure.funcs.items() if not f.updates]


def _users(structure: Structure, name: str) -> int:
    return len(structure.pipeline.consumers(name))


ROLES: dict[str, Callable[[Structure], list[str]]] = {
    "@output": lambda s: list(dict.fromkeys(s.pipeline.outputs)),
    "@pure_output": lambda s: [n for n in dict.fromkeys(s.pipeline.outputs) if not s.funcs[n].updates],
    "@elementwise": lambda s: (
        [] if any(f.updates for f in s.funcs.values()) else list(dict.fromkeys(s.pipeline.outputs))
    ),
    "@reductions": lambda s: list(s.reductions),
    "@rowstats": lambda s: list(s.rowstats),
    "@scans": lambda s: list(s.scans),
    "@windows": lambda s: list(s.windows),
    "@pools": lambda s: list(s.pools),
    "@convolutions": lambda s: list(s.convolutions),
    "@products": lambda s: list(s.products),
    "@heavy": lambda s: [*s.products, *s.convolutions],
    "@shared": lambda s: [
        n
        for n in _pure(s)
        if n not in s.pipeline.outputs and _users(s, n) > 1 and s.cost(n) >= COSTLY and s.funcs[n].dims
    ],
    "@depthwise": lambda s: [n for n in s.convolutions if not rows_dim(s, n)],
    "@dense": lambda s: [n for n in s.convolutions if rows_dim(s, n)],
    "@packable": lambda s: [b for n in s.products for b in packable(s, n)],
    "@passes": lambda s: [n for n in s.funcs if n.endswith("_row")],
    "@padded": lambda s: [n for n in s.funcs if n.endswith("_padded")],
    "@weights": lambda s: [n for n in s.funcs if n.endswith("_weight") and not s.funcs[n].updates],
    "@pure": lambda s: _pure(s),
    "@pointwise": lambda s: [n for n in _pure(s) if n not in s.pipeline.outputs],
}
"""Role -> the Funcs that play it, producers first."""


def resolve(structure: Structure, role: str) -> list[str]:
    """Funcs that a role or a plain name stands for; [] when there are none.

    Raises:
        RecipeError: no such role, or no Func of that name.
    """
    plain = role.removesuffix("?")
    if not plain.startswith("@"):
        if plain not in structure.funcs and plain.removesuffix("_partial") not in structure.funcs:
            raise RecipeError(f"no Func {plain!r} in this pipeline; there are {', '.join(structure.funcs)}")
        return [plain]
    if plain not in ROLES:
        raise RecipeError(f"unknown role {plain!r}; known: {', '.join(sorted(ROLES))}")
    return ROLES[plain](structure)


def rewrite(pipeline: Pipeline, recipe: Sequence[Directive]) -> Pipeline:
    """The pipeline with the recipe's ``rewrite`` Directives carried out, each only where it is provably the same.

    Raises:
        RecipeError: an unknown rewrite, or one that fits nowhere and is not optional.
    """
    for directive in recipe:
        if directive.verb != "rewrite":
            continue
        name = str(directive.args[0]) if directive.args else ""
        if name not in REWRITES:
            raise RecipeError(f"unknown rewrite {name!r}; known: {', '.join(sorted(REWRITES))}")
        targets = resolve(Structure(pipeline), directive.func)
        changed = pipeline
        for target in targets:
            changed = REWRITES[name](changed, target)
        if changed == pipeline and not directive.func.endswith("?"):
            raise RecipeError(f"`{directive}` changes nothing here")
        pipeline = changed
    return pipeline


def bind(pipeline: Pipeline, recipe: Sequence[Directive], values: Mapping[str, Any]) -> list[Directive]:
    """The concrete schedule of a recipe for an (already rewritten) pipeline.

    Args:
        pipeline: the algorithm.
        recipe: Directives with roles and compound verbs.
        values: tunable name -> current value.

    Returns:
        Directives on named Funcs, with only the verbs that the emitter knows.

    Raises:
        RecipeError: a role without a match, or a move that does not fit its Funcs.
    """
    first = Structure(pipeline)
    stored: list[str] = []
    for directive in recipe:
        if directive.verb == "store":
            stored += _matches(first, directive)
    stored += to_store(pipeline, stored)
    plan = Plan(pipeline, stored=stored, values=dict(values))
    plan.directives += [d for d in recipe if d.verb == "rewrite"]
    concrete = all(not d.func.startswith("@") and d.verb not in MOVES for d in recipe)
    for directive in recipe:
        if directive.verb in ("rewrite", "store"):
            continue
        names = _matches(plan.structure, directive)
        if directive.verb in MOVES:
            names = [n for n in names if n not in plan.done]
            if names and not MOVES[directive.verb](plan, names, *directive.args):
                if not directive.func.endswith("?"):
                    raise RecipeError(f"`{directive}` does not fit {', '.join(names)}")
            continue
        for name in names:
            plan.directives.append(_placed(plan, directive, name))
            plan.done.add(name)
    if not (concrete and recipe):
        finish(plan)
    return plan.directives


def to_store(pipeline: Pipeline, stored: Sequence[str]) -> list[str]:
    """Pure Funcs that have to be stored for heavy work to be done once: costly operands of products and
    convolutions, padded inputs, and results that a product is not used by element for element."""
    structure = Structure(pipeline, stored)
    found: list[str] = []
    for name in [*structure.products, *structure.convolutions]:
        for operand in operands(structure, name):
            func = structure.funcs.get(operand)
            if func is None or func.updates or operand in structure.stored:
                continue
            padding = any(n[0] == "select" for n in walk(func.value)) and rows_dim(structure, name)
            if structure.cost(operand) > 1 or padding:
                found.append(operand)
    structure = Structure(pipeline, [*stored, *found])
    for name in [*structure.products, *structure.convolutions]:
        users = structure.users(name)
        result = pipeline.consumers(name)
        single = len(users) == 1 and not structure.funcs[users[0]].updates
        plain = single and all(
            [n[0] for n in a.index] == ["var"] * len(a.index) for a in structure.accesses(users[0]) if a.callee == name
        )
        if not plain and len(result) == 1 and not result[0].updates:
            found.append(result[0].name)
    return found


def _matches(structure: Structure, directive: Directive) -> list[str]:
    names = resolve(structure, directive.func)
    if not names and not directive.func.endswith("?"):
        raise RecipeError(f"`{directive}`: nothing in this pipeline is {directive.func}")
    return names


def _placed(plan: Plan, directive: Directive, name: str) -> Directive:
    """A primitive Directive on one Func, roles among its arguments resolved too."""
    arguments = []
    for argument in directive.args:
        if isinstance(argument, str) and argument.startswith("@"):
            found = [n for n in resolve(plan.structure, argument) if n != name]
            if not found:
                raise RecipeError(f"`{directive}`: nothing in this pipeline is {argument}")
            argument = found[-1]
        arguments.append(argument)
    stage = directive.stage
    if directive.verb == "vectorize_reduction" and stage == 0 and plan.func(name).updates:
        stage = plan.structure.last_stage(name)
    return Directive(func=name, verb=directive.verb, args=tuple(arguments), stage=stage)


def finish(plan: Plan) -> None:
    """Decide what the recipe left open: scans and reductions on their own, stored and output Funcs vectorised."""
    structure = plan.structure
    for name in reversed(structure.funcs):
        if name in plan.done:
            continue
        if name in structure.products:
            register_tile(plan, [name])
        elif name in structure.convolutions and rows_dim(structure, name):
            conv_tile(plan, [name])
    for name in structure.funcs:
        if name in plan.done or name not in structure.stored:
            continue
        if name in structure.scans:
            scan(plan, [name])
        elif structure.funcs[name].updates:
            reduce_alone(plan, [name])
        else:
            pointwise(plan, [name])
