"""Every shipped task: it loads, its reference runs, its candidates are what they claim to be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.records import Entry, Status
from kernelwright.tasks import find_task, list_tasks, module_constants, standard_roots, with_overrides
from kernelwright.tasks.candidate_files import load_candidate
from kernelwright.tasks.loading import shipped_tasks
from kernelwright.tasks.native import save_task

SHIPPED = [row.name for row in list_tasks(standard_roots()) if row.shelf == "shipped"]
SMALL = 97
"""No constant above this in quick runs: odd, so that no tile fits, and above every block length used."""

RUNNER = """
import json, sys, torch

def outputs(made):
    return list(made) if isinstance(made, (tuple, list)) else [made]

def check(source):
    names = {}
    exec(compile(source, "reference.py", "exec"), names)
    runs = []
    for _ in range(2):
        torch.manual_seed(7)
        model = names["Model"](*names["get_init_inputs"]()).eval()
        inputs = names["get_inputs"]()
        with torch.no_grad():
            runs.append(outputs(model(*inputs)))
    return {
        "inputs": [[str(t.dtype).removeprefix("torch."), list(t.shape)] for t in inputs],
        "same": all(torch.equal(a, b) for a, b in zip(*runs)),
        "finite": all(bool(torch.isfinite(t.double()).all()) for t in runs[0]),
        "varied": all(float(t.double().std()) > 0 for t in runs[0]),
    }

torch.set_num_threads(1)
print(json.dumps({name: check(source) for name, source in json.load(sys.stdin).items()}))
"""


def small_overrides(name: str) -> dict[str, int]:
    """The task at sizes of at most SMALL."""
    constants = module_constants(find_task(name).reference)
    return {key: SMALL for key, value in constants.items() if type(value) is int and value > SMALL}


@pytest.fixture(scope="module")
def ran() -> dict:
    """What every reference did at small sizes, run twice in a process of its own."""
    sources = {name: with_overrides(find_task(name).reference, small_overrides(name)) for name in SHIPPED}
    command = [sys.executable, "-c", RUNNER]
    result = subprocess.run(command, input=json.dumps(sources), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def claimed(file: Path) -> str:
    """The status that a candidate's first line claims."""
    text = file if file.is_file() else next(p for p in sorted(file.iterdir()) if p.stem == "kernel")
    first = text.read_text().splitlines()[0]
    assert "expect: " in first, f"{file}: the first line has to say `expect: STATUS`"
    return first.rpartition("expect: ")[2].strip()


def candidates(name: str, kind: str) -> list[Path]:
    return sorted((shipped_tasks() / name / kind).iterdir())


def test_there_are_enough_of_every_kind():
    tasks = [find_task(name) for name in SHIPPED]
    assert len(tasks) >= 20
    assert sum(len(task.workloads) > 1 for task in tasks) >= 5
    assert any(task.policy.forbid_regression for task in tasks)
    assert any(task.start is not None for task in tasks)
    assert len({task.family for task in tasks}) >= 8


@pytest.mark.parametrize("name", SHIPPED)
def test_a_task_states_all_that_it_should(name, tmp_path):
    task = find_task(name)
    assert task.name == name
    assert task.family != "unknown"
    assert task.description
    assert task.torch_ops
    assert task.licence == "Apache-2.0"
    assert task.source.startswith("kernelwright")
    assert all(spec.domain.low is not None for spec in task.inputs)
    save_task(task, tmp_path / name)
    assert find_task(tmp_path / name).id == task.id


@pytest.mark.parametrize("name", SHIPPED)
def test_a_reference_is_deterministic_finite_and_as_declared(name, ran):
    facts, task = ran[name], find_task(name)
    assert facts["same"]
    assert facts["finite"]
    assert facts["varied"]
    assert [dtype for dtype, _ in facts["inputs"]] == [spec.dtype for spec in task.inputs]
    assert [len(shape) for _, shape in facts["inputs"]] == [len(spec.axes) for spec in task.inputs]
    assert max(size for _, shape in facts["inputs"] for size in shape) <= max(SMALL + 2, 256)


@pytest.mark.parametrize("name", SHIPPED)
def test_candidates_parse_and_say_what_they_are(name):
    correct, wrong = candidates(name, "correct"), candidates(name, "wrong")
    assert correct
    assert len(wrong) >= 2
    assert {load_candidate(file).entry for file in correct} == {Entry.C, Entry.MODULE}
    assert {claimed(file) for file in correct} == {"PASSED"}
    assert all(Status(claimed(file)) is not Status.PASSED for file in wrong)
