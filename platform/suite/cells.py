"""The samples of a plan, in the order they are run. Owns their keys and seeds; it starts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.config import OPEN_MAPPINGS, RunConfig, load_config
from kernelwright.errors import UnknownName
from kernelwright.records import SuitePlan, SuiteTask


@dataclass(frozen=True)
class Cell:
    """One sample of one task in one arm."""

    task: SuiteTask
    arm: str
    sample: int
    seed: int

    @property
    def key(self) -> str:
        """Its name: of its folder and its row."""
        return f"{self.task.key}.{self.arm}.{self.sample}"


def cells_of(plan: SuitePlan) -> list[Cell]:
    """All samples: sample by sample, task by task, the arms side by side and each first in its turn."""
    arms = list(plan.arms)
    found = []
    for sample in range(plan.samples):
        for index, task in enumerate(plan.tasks):
            turn = (index + sample) % len(arms)
            found += [Cell(task, arm, sample, plan.seed + sample) for arm in (*arms[turn:], *arms[:turn])]
    return found


def cell_named(plan: SuitePlan, key: str) -> Cell:
    """A sample by its key.

    Raises:
        UnknownName: the plan has no such sample.
    """
    cells = {c.key: c for c in cells_of(plan)}
    if key not in cells:
        raise UnknownName("sample", key, cells)
    return cells[key]


def config_of(plan: SuitePlan, cell: Cell, device: str) -> RunConfig:
    """The arm's configuration with the sample's seed, on a device.

    Options that came up after the plan was made have their defaults: a suite outlives an upgrade.
    """
    return load_config(values={**dotted(plan.arms[cell.arm]), "seed": cell.seed, "device": device})


def limit_s(plan: SuitePlan, cell: Cell) -> float:
    """Wall time after which the sample counts as hung, seconds."""
    budget = float(plan.arms[cell.arm]["budget"]["seconds"])
    return plan.limit_s or 3 * budget + 600


def dotted(options: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested options as dotted keys; dotted ones may be written as they are."""
    found: dict[str, Any] = {}
    for key, value in options.items():
        name = f"{prefix}{key}"
        section = isinstance(value, Mapping) and name not in OPEN_MAPPINGS
        found.update(dotted(value, f"{name}.") if section else {name: value})
    return found
