"""What the emulator says of a GPU kernel that the run's own device did not judge, or refused without saying where.

Owns when it is asked, in a session of its own. Its verdict helps a repair and is told in the run's events; it is
never the candidate's judgement.
"""

from __future__ import annotations

import dataclasses
from contextlib import closing

from kernelwright.agents.context import RunContext
from kernelwright.errors import MissingTool
from kernelwright.records import Candidate, Depth, Evaluation, LanguageName, Level, Status

LANGUAGES = frozenset({LanguageName.CUDA, LanguageName.CUTE})
UNTOLD = frozenset({Status.RUNTIME_ERROR, Status.WRONG_VALUES, Status.NONFINITE, Status.TIMEOUT})
"""What a GPU says of a fault without the line, block and thread that the emulator can give."""
AT_MOST_S = 60.0


def second_look(context: RunContext, candidate: Candidate, evaluation: Evaluation) -> Evaluation | None:
    """The emulator's refusal of a candidate; None when it was not asked, cannot run it or finds nothing wrong.

    Args:
        context: the run.
        candidate: what was judged.
        evaluation: by the run's own device.
    """
    only_compiled = evaluation.status is Status.UNJUDGED and evaluation.level is Level.COMPILED
    untold = evaluation.status in UNTOLD or (only_compiled and evaluation.failure is None)
    if candidate.language not in LANGUAGES or not untold or evaluation.level is Level.EMULATED:
        return None
    settings = dataclasses.replace(context.roles.settings, device="emulated")
    seconds = min(AT_MOST_S, max(1.0, context.left_s - context.reserve_s))
    try:
        with context.judging, closing(context.roles.executor.open(context.task, settings=settings)) as emulator:
            seen = emulator.evaluate(candidate, depth=Depth.SCREEN, deadline_s=seconds)
    except MissingTool as error:
        context.emit("emulated", f"not asked: {error}")
        return None
    message = seen.failure.message if seen.failure is not None else "nothing is wrong"
    context.emit("emulated", f"{seen.status}: {message}", candidate=candidate.id, status=seen.status.value)
    return None if seen.passed or seen.status in (Status.UNJUDGED, Status.TIMEOUT) else seen
