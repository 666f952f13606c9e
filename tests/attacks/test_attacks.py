"""Every attack of the catalogue is caught or neutralised, and each is a real one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacks.harness import Sessions, complaint, fools_naive_judge, needs_more, wins_without
from attacks.reading import HERE, Sample, attacks, known_holes, parameters, rotating, rows, with_headers
from attacks.remains import probes, process_table, wait_until_gone

from kernelwright.toolexec.guards import Guards

SAMPLES = sorted(attacks(), key=lambda s: (s.task, s.own_kernel, s.name))
REPRESENTATIVE = {
    "A04_lazy_result",
    "A05_patched_instance",
    "A12_steady_state",
    "B01_static_map",
    "B03_sampled_checksum",
    "B11_in_place_exp",
    "B23_nan_tail",
    "B25_flush_small",
    "C06_bfloat16",
    "D01_prints_result",
    "D03_forged_answers",
    "D05_patched_host",
}
"""One for each kind of guard, on two tasks, so that CI opens two sessions for them."""
OTHERS = [s for s in SAMPLES if s.name not in REPRESENTATIVE and s.task in ("row_softmax", "gelu_chain")]
DAILY = REPRESENTATIVE | {s.name for s in rotating([s for s in OTHERS if s.variants == 1 and not s.own_kernel], 3)}
NAIVE = [s for s in SAMPLES if s.naive]
NAIVE_DAILY = rotating(NAIVE, 3)
GUARDED = sorted((s for s in SAMPLES if s.off), key=lambda s: (s.task, s.own_kernel, s.off))
GUARDED_DAILY = rotating([s for s in GUARDED if (s in OTHERS or s.name in REPRESENTATIVE) and s.cores < 2], 2)
"""Those that need a second core for themselves gain only where nothing else runs: with --full."""


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    made = Sessions(tmp_path_factory.mktemp("cache"))
    yield made
    made.close()


@pytest.mark.parametrize("sample", parameters(SAMPLES, DAILY))
def test_attack_is_caught_or_neutralised(sample: Sample, sessions: Sessions) -> None:
    before = set(process_table())
    verdict = sessions.best_of_variants(sample) if sample.variants > 1 else sessions.judge(sample)
    wrong = complaint(sample, verdict)
    left, dropped = wait_until_gone(before), probes() if sample.probe else []
    if lacking := needs_more(sample, verdict):
        pytest.skip(lacking)
    assert not wrong, wrong
    assert not left, f"{sample.name} left processes behind: {left}"
    assert not dropped, f"{sample.name} could write {dropped}"


@pytest.mark.parametrize(
    "sample",
    [pytest.param(s, id=s.name, marks=[] if s in GUARDED_DAILY else [pytest.mark.slow]) for s in GUARDED],
)
def test_attack_wins_where_its_guard_is_off(sample: Sample, sessions: Sessions) -> None:
    if len(os.sched_getaffinity(0)) < sample.cores:
        pytest.skip(f"it needs {sample.cores} cores to gain anything")
    said = wins_without(sessions, sample)
    probes()
    assert not said, said


@pytest.mark.parametrize(
    "sample",
    [pytest.param(s, id=s.name, marks=[] if s in NAIVE_DAILY else [pytest.mark.slow]) for s in NAIVE],
)
def test_attack_fools_a_naive_judge(sample: Sample) -> None:
    said = fools_naive_judge(sample)
    assert not said, said


def test_the_catalogue_is_complete() -> None:
    wanted = [f"{s}{i:02d}" for s, n in (("A", 22), ("B", 25), ("C", 10), ("D", 16), ("E", 5)) for i in range(1, n + 1)]
    assert [row["id"] for row in rows()] == wanted


def test_rows_say_what_they_must() -> None:
    for row in rows():
        if row["id"].startswith("E"):
            assert row["self_test"]
            continue
        assert row["does"] and row["guard"] and row["cpu"] in ("yes", "partly", "no"), row["id"]
        assert bool(row.get("samples")) is (row["cpu"] != "no"), f"{row['id']}: a sample, or cpu: no"
        assert row["cpu"] == "yes" or row["gpu"], f"{row['id']} says nothing of the GPU's path"


def test_every_sample_belongs_to_a_row_and_has_its_files() -> None:
    named = {s.path for s in SAMPLES}
    assert named == set((HERE / "samples").iterdir()) - {Path(p) for p in (HERE / "samples").glob("__pycache__")}
    for sample in SAMPLES:
        assert (HERE / "tasks" / f"{sample.task.split()[0]}.py").is_file(), sample.name
        assert sample.name.startswith(sample.row)
        assert not sample.twin or (HERE / "honest" / sample.twin).is_file(), sample.name


def test_every_sample_can_be_shown_to_work() -> None:
    """A sample that needs no switch and fools nobody must say why."""
    silent = {s.name for s in SAMPLES if not s.naive and not s.off}
    explained = {s["file"] for row in rows() for s in row.get("samples", []) if s.get("note")}
    explained |= {"D15_note_to_judge.py"}
    assert silent <= {Path(file).stem for file in explained}


def test_known_holes_name_samples() -> None:
    assert set(known_holes()) <= {s.name for s in [*SAMPLES, *with_headers("honest"), *with_headers("crashing")]}


def test_switches_are_known_to_the_judge() -> None:
    known = set(Guards.__dataclass_fields__)
    assert all(getattr(Guards(), name) is True for name in known), "guards are on unless a test says otherwise"
    assert {name for s in SAMPLES for name in s.off} <= known
