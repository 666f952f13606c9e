"""Honest candidates pass, however suspicious they look. With --full each does so twenty times."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from attacks.harness import Sessions, complaint
from attacks.reading import Sample, candidate_of, parameters, rotating, task_of, with_headers

from kernelwright.records import Depth

HONEST = sorted(with_headers("honest"), key=lambda s: (s.task, s.name))
SMALL = ("row_softmax", "linear_bias", "gelu_chain")
DAILY = {s.name for s in rotating([s for s in HONEST if s.task in SMALL], 5)} | {"linear_pack_too_early"}
REPETITIONS = 20
JUDGED = [s for s in HONEST if "PASSED" in s.expect and "REFUSED" not in s.expect]
"""Not those whose task is refused before any candidate is run: there is nothing to repeat."""


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    made = Sessions(tmp_path_factory.mktemp("cache"), timeout_s=60.0)
    yield made
    made.close()


@pytest.mark.parametrize("sample", parameters(HONEST, DAILY))
def test_honest_candidate_passes(sample: Sample, sessions: Sessions) -> None:
    wrong = complaint(sample, sessions.judge(sample))
    assert not wrong, wrong


@pytest.mark.slow
@pytest.mark.parametrize("sample", parameters(JUDGED, {s.name for s in HONEST}))
def test_honest_candidate_is_never_rejected(sample: Sample, sessions: Sessions) -> None:
    session = sessions.get(task_of(sample))
    candidate = candidate_of(sample.path)
    depths = [Depth.FULL if i % 4 == 0 else Depth.SCREEN for i in range(REPETITIONS)]
    found = [session.evaluate(candidate, depth=depth) for depth in depths]
    rejected = [f"{e.status} {e.failure.message if e.failure else ''}" for e in found if not e.passed]
    assert not rejected, f"{len(rejected)} of {REPETITIONS}: {rejected[:3]}"


def test_there_are_enough_of_them() -> None:
    assert len(HONEST) >= 30
    assert len({s.task.split()[0] for s in HONEST}) >= 20
