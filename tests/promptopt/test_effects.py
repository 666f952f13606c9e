"""Intervals that hold what they promise."""

from __future__ import annotations

import math
import random

import pytest
from promptopt.world import World

from kernelwright.promptopt.effects import lesson_effects, paired, t_quantile
from kernelwright.records import LessonDraw


@pytest.mark.parametrize(
    ("p", "dof", "table"),
    [(0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 3, 3.182), (0.975, 10, 2.228), (0.995, 5, 4.032), (0.9, 30, 1.310)],
)
def test_students_t(p: float, dof: int, table: float) -> None:
    assert t_quantile(p, dof) == pytest.approx(table, rel=0.01)


def test_a_paired_difference_covers_as_often_as_it_says() -> None:
    source = random.Random(1)
    hits = 0
    for _ in range(2000):
        found = paired([source.gauss(0.1, 0.3) for _ in range(6)])
        hits += found.low <= 0.1 <= found.high
    assert 0.93 < hits / 2000 < 0.97
    assert paired([0.3]).low == -math.inf and paired([]).n == 0


def ordinary_runs(world: World, runs: int, *, share: float = 0.1) -> list[LessonDraw]:
    """Runs of an ordinary kind: all lessons active, each left out of a tenth of the draws."""
    source = random.Random(world.seed)
    tasks = [t for part in world.split.values() for t in part]
    draws = []
    for number in range(runs):
        task = source.choice(tasks)
        out = {p.id for p in world.principles if source.random() < share}
        prompt = world.seed_prompt + " ".join(p.text for p in world.principles if p.id not in out)
        draws.append(
            LessonDraw(
                call=str(number), block=task, shown=tuple(p.id for p in world.principles if p.id not in out),
                left_out=tuple(sorted(out)), share=share, score=world.score(prompt, task, str(number)),
            )
        )  # fmt: skip
    return draws


@pytest.mark.parametrize("runs", [40, 120, 400])
def test_a_tenth_left_out_is_enough_to_tell_what_each_lesson_does(runs: int) -> None:
    """With few runs lessons are estimated one at a time, with many together: both must cover."""
    hits = []
    for seed in range(20):
        world = World(seed)
        found = lesson_effects(ordinary_runs(world, runs))
        hits += [found[p.id].low <= p.effect <= found[p.id].high for p in world.principles if p.id in found]
    assert len(hits) > 400 and sum(hits) / len(hits) >= 0.9


def test_a_lesson_that_came_with_better_times_is_given_no_credit_for_them() -> None:
    """Before it existed scores were lower, for another reason; only what was drawn at random may count."""
    source = random.Random(2)
    draws = []
    for number in range(400):
        late = number >= 200
        out = late and source.random() < 0.1
        score = source.gauss(1.0 if late else 0.0, 0.1)
        draws.append(
            LessonDraw(
                call=str(number), block="t", shown=("new",) if late and not out else (),
                left_out=("new",) if out else (), score=score,
            )
        )  # fmt: skip
    found = lesson_effects(draws)["new"]
    assert found.low <= 0.0 <= found.high
    assert (found.shown + found.left_out) == 200


def test_what_was_never_left_out_gets_no_estimate() -> None:
    draws = [LessonDraw(call=str(i), block="t", shown=("always",), score=1.0 + i) for i in range(50)]
    assert lesson_effects(draws) == {}
    assert lesson_effects([]) == {}
