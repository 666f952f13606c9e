"""Schedules that a model proposes for the task's Halide pipeline: what it is told of it, and its text as Directives.

Owns the words of the offer and the refusals. Search carries such a decision out, tunes it and searches around it; a
model writes no line of it.
"""

from __future__ import annotations

from kernelwright.agents.llm.exchange import BadAnswer
from kernelwright.protocols import Knowledge, ScheduleSpace
from kernelwright.records import Directive
from kernelwright.records.pipeline import Func, Pipeline
from kernelwright.search.schedule_legality import problems_of
from kernelwright.search.schedule_space import DOMAINS, concrete, pipelines_of
from kernelwright.search.schedule_text import ScheduleTextError, parse_schedule

MOST_FUNCS = 24
"""A pipeline of more is not offered: nobody schedules it by hand."""


def offer(space: ScheduleSpace, known: Knowledge) -> str:
    """What a planner is told of schedules; "" where the task has no pipeline that a person could overlook."""
    if "halide" not in known.languages:
        return ""
    start = space.start(known.facts)
    pipeline = next(iter(pipelines_of(start).values())) if start is not None else None
    if pipeline is None or len(pipeline.funcs) > MOST_FUNCS:
        return ""
    funcs = "\n".join(f"- {_told(pipeline, func)}" for func in pipeline.funcs)
    return (
        "\n\nA decision may also be a schedule of the task's Halide pipeline, which search then carries out and tunes. "
        "Give it as a further key `schedule`: a line for each Func that is not to be inlined, from the output "
        "backwards, e.g. `out: split x 64 -> xo xi, order xi y xo, vectorize 16` or "
        "`stage: at out.xo, vectorize x 16`, `stage.update(0): rfactor r 16 4` for a reduction. A `$NAME` stands for "
        f"a tunable: {', '.join(DOMAINS)}. Its Funcs, loops innermost first:\n{funcs}"
    )


def _told(pipeline: Pipeline, func: Func) -> str:
    """A Func in a line: its loops, what it is reduced over, what it reads."""
    loops = ", ".join(f"{d.name} {d.extent}" for d in func.dims) or "one value"
    sums = [f"{d.name} {d.extent}" for u in func.updates for d in u.domain]
    reads = ", ".join(name for name in dict.fromkeys(Pipeline.loads_of(func)) if name != func.name)
    over = f", reduced over {', '.join(sums)}" if sums else ""
    end = " (an output)" if func.name in pipeline.outputs else ""
    return f"{func.name}: {loops}{over}; reads {reads or 'nothing'}{end}"


def directives_in(text: str, space: ScheduleSpace, known: Knowledge) -> tuple[Directive, ...]:
    """A drafted schedule as Directives that fit the task's pipeline.

    Raises:
        BadAnswer: it cannot be read or carried out; the message says where and why.
    """
    try:
        directives = tuple(parse_schedule(text))
    except ScheduleTextError as error:
        raise BadAnswer(f"The schedule cannot be read: {error}") from None
    start = space.start(known.facts)
    if start is None or not directives:
        raise BadAnswer("There is no pipeline here that a schedule could be of, or the schedule is empty.")
    made = space.apply(start, directives)
    if made is None:
        why = getattr(space, "refusal", "") or "it does not fit the pipeline"
        raise BadAnswer(f"The schedule cannot be carried out: {why}")
    problems = problems_of(next(iter(pipelines_of(made).values())), concrete(made))
    if problems:
        raise BadAnswer(f"The schedule cannot be carried out: {'; '.join(problems[:3])}")
    return directives
