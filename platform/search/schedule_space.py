"""The schedule space of a pipeline candidate: the plain schedule, recipes bound to it, and what the rules propose.

Implements ``protocols.ScheduleSpace``. A candidate is two files: ``algorithm.json`` (a Pipeline a
workload) and ``schedule.json`` (the Directives); where a rewrite has changed the algorithm, ``imported.json`` keeps the
one that was imported, so that another recipe can start from it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence

from kernelwright.records import (
    Candidate,
    Decision,
    Directive,
    Entry,
    LanguageName,
    SourceFile,
    TaskFacts,
    Tunable,
)
from kernelwright.records.pipeline import Pipeline
from kernelwright.search.lowering import LoweringError, lower_all
from kernelwright.search.proposals import propose
from kernelwright.search.roles import RecipeError, bind, rewrite

log = logging.getLogger(__name__)

ALGORITHM, SCHEDULE, IMPORTED = "algorithm.json", "schedule.json", "imported.json"
ALGORITHM_FORMAT, SCHEDULE_FORMAT = "kernelwright/algorithm/1", "kernelwright/schedule/1"

DOMAINS: dict[str, tuple[tuple[int, ...], int]] = {
    "LANES": ((4, 8, 16, 32), 16),
    "UNROLL": ((1, 2, 4, 8), 4),
    "TILE": ((16, 32, 64, 128, 256), 64),
    "STRIP": ((16, 32, 64, 128), 32),
    "HIGH": ((1, 2, 3, 4, 6), 2),
    "TILE_X": ((128, 256, 512, 1024), 512),
    "TILE_Y": ((8, 16, 32, 64, 128), 32),
    "WIDTH": ((16, 32, 48, 64), 48),
    "HEIGHT": ((4, 6, 8, 12), 8),
    "BLOCK": ((16, 32, 48, 64, 96, 128), 48),
    "CHANNELS": ((2, 4, 8, 12), 8),
    "ROWS": ((2, 4, 8, 16), 8),
    "COLUMNS": ((2, 3, 4, 6), 4),
    "LINES": ((2, 4, 6, 8), 6),
}
"""Tunables that recipes may use without declaring them: (values, start)."""


PLAIN = (Directive(func="@packable?", verb="store"),)
"""The recipe of the start: nothing but what products cannot do without; the rest is decided by ``roles.finish``."""


class PipelineSpace:
    """Schedules of Halide pipelines. Stateless but for the reason of the last refusal.

    Attributes:
        refusal: why the last ``start`` or ``apply`` returned None; "" when it did not.
    """

    def __init__(self) -> None:
        self.refusal = ""

    def start(self, facts: TaskFacts) -> Candidate | None:
        """The task as a pipeline with a plain, vectorised schedule; None (and ``refusal``) when it has no such form."""
        self.refusal = ""
        try:
            pipelines = lower_all(facts)
            directives = bind(next(iter(pipelines.values())), PLAIN, {})
        except (LoweringError, RecipeError) as error:
            self.refusal = str(error)
            log.info("no pipeline form: %s", error)
            return None
        return candidate_of(pipelines, directives, imported=None, tunables=())

    def written(self, text: str) -> Candidate | None:
        """A hand-written algorithm.json with a plain, vectorised schedule; None (and ``refusal``) when it is none.

        Args:
            text: of the file; one Pipeline for each workload of a task.
        """
        self.refusal = ""
        try:
            pipelines = pipelines_in(text)
            directives = bind(next(iter(pipelines.values())), PLAIN, {})
        except (RecipeError, ValueError) as error:
            self.refusal = str(error)
            return None
        return candidate_of(pipelines, directives, imported=None, tunables=())

    def apply(self, candidate: Candidate, recipe: Sequence[Directive]) -> Candidate | None:
        """The candidate's imported algorithm under a recipe; None (and ``refusal``) when the recipe does not fit.

        Tunables that the recipe names and the candidate does not declare get the domain of DOMAINS.
        """
        self.refusal = ""
        try:
            imported = pipelines_of(candidate, IMPORTED if _has(candidate, IMPORTED) else ALGORITHM)
            tunables = _declared(candidate, recipe)
            values = {t.name: t.value for t in tunables}
            changed = {name: rewrite(p, recipe) for name, p in imported.items()}
            schedules = {name: bind(p, recipe, values) for name, p in changed.items()}
        except (RecipeError, ValueError) as error:
            self.refusal = str(error)
            log.info("recipe does not fit: %s", error)
            return None
        first = next(iter(schedules.values()))
        if any(s != first for s in schedules.values()):
            first = max(schedules.values(), key=len)
        used = {a[1:] for d in first for a in d.args if isinstance(a, str) and a.startswith("$")}
        kept = [t for t in tunables if t.name in used]  # of the others no value changes anything
        return candidate_of(changed, first, imported=imported if changed != imported else None, tunables=kept)

    def seeds(self, candidate: Candidate) -> list[tuple[str, list[Directive]]]:
        """What the rules suggest for a candidate's algorithm as it stands: technique and concrete schedule."""
        children = [(d.technique, self.apply(candidate, d.directives)) for d in self.proposals(candidate)]
        return [(name, concrete(c)) for name, c in children if c is not None and not _has(c, IMPORTED)]

    def proposals(self, candidate: Candidate) -> list[Decision]:
        """Decisions that the rules of scheduling suggest, best guess first; each applies to this candidate."""
        imported = pipelines_of(candidate, IMPORTED if _has(candidate, IMPORTED) else ALGORITHM)
        decisions = propose(next(iter(imported.values())))
        return [d for d in decisions if self.apply(candidate, d.directives) is not None]


def candidate_of(
    pipelines: Mapping[str, Pipeline],
    directives: Sequence[Directive],
    *,
    imported: Mapping[str, Pipeline] | None,
    tunables: Sequence[Tunable],
) -> Candidate:
    """A pipeline candidate of its parts."""
    files = [
        SourceFile(path=ALGORITHM, text=algorithm_text(pipelines)),
        SourceFile(path=SCHEDULE, text=schedule_text(directives)),
    ]
    if imported is not None:
        files.append(SourceFile(path=IMPORTED, text=algorithm_text(imported)))
    return Candidate(
        language=LanguageName.HALIDE,
        entry=Entry.PIPELINE,
        files=tuple(files),
        entry_file=SCHEDULE,
        tunables=tuple(tunables),
    )


def algorithm_text(pipelines: Mapping[str, Pipeline]) -> str:
    """algorithm.json, a line for each buffer and Func."""
    parts = []
    for name, pipeline in pipelines.items():
        data = pipeline.model_dump(mode="json")
        rows = [f'   "{k}": [\n' + ",\n".join(f"    {json.dumps(v)}" for v in data[k]) + "\n   ]" for k in data]
        parts.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n  }")
    return f'{{\n "format": "{ALGORITHM_FORMAT}",\n "workloads": {{\n' + ",\n".join(parts) + "\n }\n}\n"


def schedule_text(directives: Sequence[Directive]) -> str:
    """schedule.json, a line for each Directive."""
    rows = ",\n".join("  " + json.dumps(d.model_dump(mode="json")) for d in directives)
    return f'{{\n "format": "{SCHEDULE_FORMAT}",\n "directives": [\n{rows}\n ]\n}}\n'


def pipelines_of(candidate: Candidate, path: str = ALGORITHM) -> dict[str, Pipeline]:
    """Workload -> Pipeline of a candidate.

    Raises:
        ValueError: the file is missing or not of its format.
    """
    try:
        return pipelines_in(candidate.text(path))
    except KeyError:
        raise ValueError(f"the candidate has no file {path}") from None


def pipelines_in(text: str) -> dict[str, Pipeline]:
    """Workload -> Pipeline of an algorithm.json.

    Raises:
        ValueError: the text is not of its format.
    """
    data = json.loads(text)
    workloads = data.get("workloads") if isinstance(data, dict) and data.get("format") == ALGORITHM_FORMAT else None
    if not isinstance(workloads, dict) or not workloads:
        raise ValueError(f"it is not of format {ALGORITHM_FORMAT} with a pipeline for each workload")
    return {name: Pipeline.model_validate(value) for name, value in workloads.items()}


def concrete(candidate: Candidate) -> list[Directive]:
    """The candidate's Directives with values in place of tunables."""
    values = candidate.tunable_values()

    def valued(argument: object) -> object:
        named = isinstance(argument, str) and argument.startswith("$")
        return values.get(str(argument)[1:], argument) if named else argument

    rows = [Directive.model_validate(d) for d in json.loads(candidate.text(SCHEDULE))["directives"]]
    return [d.model_copy(update={"args": tuple(valued(a) for a in d.args)}) for d in rows]


def _has(candidate: Candidate, path: str) -> bool:
    return any(f.path == path for f in candidate.files)


def _declared(candidate: Candidate, recipe: Sequence[Directive]) -> list[Tunable]:
    """The tunables that a recipe uses, declared by the candidate or known by name.

    Raises:
        RecipeError: a name that is neither.
    """
    known = {t.name: t for t in candidate.tunables}
    used = dict.fromkeys(a[1:] for d in recipe for a in d.args if isinstance(a, str) and a.startswith("$"))
    result = []
    for name in used:
        if name in known:
            result.append(known[name])
        elif name in DOMAINS:
            values, start = DOMAINS[name]
            result.append(Tunable(name=name, values=values, value=start))
        else:
            raise RecipeError(f"${name} is no declared tunable; known by name: {', '.join(DOMAINS)}")
    return result
