"""The schedule space of a run on a GPU: the task as a Halide pipeline whose loops are blocks and threads.

Owns which GPU schedules a run proposes: Halide's own, and those that gpu_schedules.py draws, where they are legal at
every workload, each once. It knows no cost: the judge's times decide. Recipes for a processor are refused with that
reason.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelwright.records import Candidate, Decision, Directive, TaskFacts
from kernelwright.records.pipeline import Pipeline
from kernelwright.search.autoschedule_text import directives_of_source
from kernelwright.search.gpu_schedules import random_gpu_schedule
from kernelwright.search.schedule_legality import problems_of
from kernelwright.search.schedule_space import ALGORITHM, PipelineSpace, candidate_of, pipelines_of
from kernelwright.search.schedule_text import print_schedule
from kernelwright.search.stage_table import StageTable

log = logging.getLogger(__name__)

DRAWN = 64
"""Seeds that are tried for proposals."""
PROPOSED = 12
"""Schedules that are proposed at most."""
GPU, TARGET = "gpu_", "cuda"


Autoscheduler = Callable[[Mapping[str, Any]], str]
"""A Pipeline as JSON -> its schedule as the C++ that Halide prints; ValueError where it has none."""


class GpuPipelineSpace(PipelineSpace):
    """GPU schedules of Halide pipelines; as :class:`PipelineSpace` in all else.

    Args:
        autoscheduler: one of Halide's own for GPUs, asked once a pipeline; None where there is none.
    """

    def __init__(self, autoscheduler: Autoscheduler | None = None) -> None:
        super().__init__()
        self._autoscheduler = autoscheduler
        self._asked: dict[str, tuple[Directive, ...]] = {}

    def start(self, facts: TaskFacts) -> Candidate | None:
        """The task as a pipeline under the first schedule that is legal on a GPU; None (and ``refusal``) without."""
        begun = super().start(facts)
        if begun is None:
            return None
        pipelines = pipelines_of(begun, ALGORITHM)
        found = schedules(pipelines, most=1)
        if not found:
            self.refusal = "no schedule for a GPU was found: nothing in it has loops that may run side by side"
            return None
        return candidate_of(pipelines, found[0], imported=None, tunables=())

    def apply(self, candidate: Candidate, recipe: Sequence[Directive]) -> Candidate | None:
        """The candidate's algorithm under a schedule for a GPU; None (and ``refusal``) where it is not legal."""
        self.refusal = ""
        if not any(directive.verb.startswith(GPU) for directive in recipe):
            self.refusal = "a recipe for a processor: it names neither blocks nor threads of a GPU"
            return None
        pipelines = pipelines_of(candidate, ALGORITHM)
        problems = [q for p in pipelines.values() for q in problems_of(p, recipe, target=TARGET)]
        self.refusal = "; ".join(problems)
        return None if self.refusal else candidate_of(pipelines, recipe, imported=None, tunables=())

    def proposals(self, candidate: Candidate) -> list[Decision]:
        """Schedules for a GPU: Halide's own first, then those that were drawn."""
        pipelines = pipelines_of(candidate, ALGORITHM)
        own = self._own(pipelines)
        drawn = schedules(pipelines, most=PROPOSED)
        named = [("gpu-autoschedule", own), *(("gpu-schedule", s) for s in drawn if s != own)]
        return [
            Decision(
                technique=technique,
                summary=f"Blocks and threads: {'; '.join(print_schedule(schedule).splitlines())}"[:300],
                where="whole kernel",
                bottleneck="latency",
                evidence="structure of the pipeline",
                hypothesis="Enough threads side by side hide the waiting, and tiles of this shape read whole lines",
                directives=schedule,
                source="search",
            )
            for technique, schedule in named
            if schedule
        ]

    def _own(self, pipelines: Mapping[str, Pipeline]) -> tuple[Directive, ...]:
        """What Halide's autoscheduler makes of the first workload; () where that is nothing that is legal at all."""
        name, first = next(iter(pipelines.items()))
        key = f"{name} {first.model_dump_json()}"
        if self._autoscheduler is not None and key not in self._asked:
            self._asked[key] = ()
            try:
                found = tuple(directives_of_source(self._autoscheduler(first.model_dump(mode="json")), first))
                problems = [q for p in pipelines.values() for q in problems_of(p, found, target=TARGET)]
                self._asked[key] = () if problems else found
                log.info("Halide's own schedule for a GPU: %s", "; ".join(problems) or "taken")
            except ValueError as error:
                log.info("no schedule of Halide's own for a GPU: %s", error)
        return self._asked.get(key, ())


def schedules(pipelines: Mapping[str, Pipeline], *, most: int) -> list[tuple[Directive, ...]]:
    """Schedules that are legal at every workload and use a GPU, no two alike."""
    table = StageTable(next(iter(pipelines.values())))
    found: dict[str, tuple[Directive, ...]] = {}
    for seed in range(DRAWN):
        drawn = random_gpu_schedule(table, seed)
        uses = any(directive.verb.startswith(GPU) for directive in drawn)
        if uses and not any(problems_of(p, drawn, target=TARGET) for p in pipelines.values()):
            found.setdefault(print_schedule(drawn), drawn)
        if len(found) == most:
            break
    return list(found.values())
