"""Every correct/ candidate passes the judge, every wrong/ one fails it in the way its first line says."""

import shutil

import pytest

from kernelwright.protocols import JudgeSettings
from kernelwright.records import Depth, Entry, Status
from kernelwright.tasks import find_task, list_tasks, module_constants, standard_roots
from kernelwright.tasks.candidate_files import load_candidate
from kernelwright.tasks.loading import shipped_tasks
from kernelwright.wiring import executor

SHIPPED = [row.name for row in list_tasks(standard_roots()) if row.shelf == "shipped"]
QUICK = ("blur_bright_lut_u8", "rms_norm_residual", "softmax_rows")
"""Judged in every run: integers, two outputs, weights, scalars, and every kind of wrong result."""
SMALL = 97
"""No constant above this: odd, so that no tile fits, and above every block length used."""


def small_task(name: str):
    """The task at sizes of at most SMALL, without its start kernel: correctness is judged, not speed."""
    constants = module_constants(find_task(name).reference)
    overrides = {key: SMALL for key, value in constants.items() if type(value) is int and value > SMALL}
    return find_task(name, overrides).model_copy(update={"start": None})


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in SHIPPED])
def test_candidates_get_the_status_they_claim(name, tmp_path):
    settings = JudgeSettings(baselines=("eager",), seed=1, cache_dir=tmp_path / "cache")
    session = executor().open(small_task(name), settings=settings)
    found, claimed = {}, {}
    try:
        for kind in ("correct", "wrong"):
            for file in sorted((shipped_tasks() / name / kind).iterdir()):
                candidate = load_candidate(file)
                if candidate.entry is Entry.C and shutil.which("g++") is None:
                    continue
                depth = Depth.SCREEN if kind == "correct" else Depth.FULL  # all input families, random weights
                evaluation = session.evaluate(candidate, depth=depth)
                found[f"{kind}/{file.name}"] = evaluation.status
                claimed[f"{kind}/{file.name}"] = Status(file.read_text().splitlines()[0].rpartition(" ")[2])
    finally:
        session.close()
    assert found == claimed
