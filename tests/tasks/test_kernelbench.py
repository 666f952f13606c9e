"""KernelBench files by path and by short name; a whole checkout when KERNELBENCH_ROOT names one."""

import os
from pathlib import Path

import pytest

from kernelwright.errors import TaskError, UnknownName
from kernelwright.tasks import Roots, find_task, list_tasks
from kernelwright.tasks.kernelbench import KernelBenchLoader, kernelbench_files
from kernelwright.tasks.source import module_constants

CHECKOUT = os.environ.get("KERNELBENCH_ROOT", "")

TEXT = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """
    A clamp after a linear layer.
    More words.
    """

    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        return torch.relu(self.linear(x))


batch_size = 128
dim = 64
shape = (3, 4)


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return [dim]
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("level1/19_Linear_ReLU", "level1/2_Sum", "level2/19_Chain", "level2/2_Sum"):
        file = tmp_path / "bench" / "KernelBench" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TEXT)
    return tmp_path / "bench"


@pytest.fixture
def roots(root: Path, tmp_path: Path) -> Roots:
    return Roots(shipped=tmp_path / "none", kernelbench=root)


@pytest.mark.parametrize("name", ["level1/19_Linear_ReLU.py", "level1/19_Linear_ReLU", "19_Linear_ReLU", "1/19"])
def test_short_names(roots, name):
    task = find_task(name, None, roots)
    assert task.name == "19_Linear_ReLU"
    assert task.format_kind == "kernelbench"
    assert (task.licence, task.source) == ("MIT", "KernelBench level1/19_Linear_ReLU.py")
    assert task.description == "A clamp after a linear layer."
    assert task.inputs == ()
    assert task.torch_ops == ("Linear", "relu")
    assert task.family == "matmul"
    assert [(w.name, w.set) for w in task.workloads] == [("default", {})]


def test_overrides_make_one_labelled_workload(roots):
    task = find_task("1/19", {"batch_size": 16}, roots)
    assert [(w.name, w.set, w.reduced) for w in task.workloads] == [("custom", {"batch_size": 16}, True)]
    assert task.reference == TEXT
    assert not find_task("1/19", {"batch_size": 256}, roots).workloads[0].reduced
    with pytest.raises(TaskError, match="no module constant 'batch' to set"):
        find_task("1/19", {"batch": 16}, roots)


def test_an_ambiguous_name_lists_the_choices(roots):
    with pytest.raises(TaskError) as caught:
        find_task("2_Sum", None, roots)
    assert caught.value.message == "'2_Sum' names several KernelBench files"
    assert caught.value.hint == "say which: level1/2_Sum, level2/2_Sum"


def test_an_unknown_short_name_suggests(roots, tmp_path):
    with pytest.raises(UnknownName, match="unknown KernelBench task '1/77'"):
        find_task("1/77", None, roots)
    with pytest.raises(UnknownName) as caught:
        find_task("level1/19_Linear_Relu", None, roots)
    assert "did you mean 'level1/19_Linear_ReLU'?" in caught.value.hint
    with pytest.raises(TaskError) as missing:
        find_task("level1/19_Linear_ReLU", None, Roots(shipped=tmp_path / "none"))
    assert "KERNELBENCH_ROOT is not set" in missing.value.message


def test_a_file_of_ones_own(tmp_path):
    file = tmp_path / "my model (2).py"
    file.write_text(TEXT)
    task = KernelBenchLoader().load(file, overrides={})
    assert task.name == "my_model__2_"
    assert (task.licence, task.source) == ("unstated", "file my model (2).py")


def test_a_kernel_beside_the_file_is_the_start_kernel(root, roots):
    (root / "KernelBench" / "level1" / "19_Linear_ReLU.cpp").write_text("// slow\n")
    start = find_task("1/19", None, roots).start
    assert (start.language, start.entry_file) == ("cpp", "19_Linear_ReLU.cpp")


def test_a_given_start_kernel_is_attached(roots, tmp_path):
    (tmp_path / "slow.cpp").write_text("// slow\n")
    task = find_task("1/19", None, roots, start=tmp_path / "slow.cpp")
    assert task.start.files == {"slow.cpp": "// slow\n"}


def test_the_listing_follows_the_benchmark(roots):
    assert [row.name for row in list_tasks(roots)] == [
        "level1/2_Sum", "level1/19_Linear_ReLU", "level2/2_Sum", "level2/19_Chain",
    ]  # fmt: skip


@pytest.mark.skipif(not CHECKOUT, reason="KERNELBENCH_ROOT names no checkout")
def test_every_file_of_a_checkout_loads_and_can_be_changed():
    files = kernelbench_files(Path(CHECKOUT))
    assert len(files) >= 250
    for path in files.values():
        constants = module_constants(path.read_text(), where=path.name)
        task = KernelBenchLoader().load(path, overrides=constants)
        assert task.workloads[0].set == constants
