"""Reading the schedule of a pipeline candidate."""

import json

from kernelwright.records import Directive


def directives_of(candidate):
    """Directives of schedule.json."""
    return [Directive(**d) for d in json.loads(candidate.text("schedule.json"))["directives"]]
