"""The native format: what is read, what is refused and with which words, writing back."""

from pathlib import Path

import pytest

from kernelwright.errors import TaskError
from kernelwright.protocols import TaskLoader
from kernelwright.records.task import Domain, InputSpec, Task
from kernelwright.tasks.native import NativeLoader, custom_workload, save_task, start_kernel

TASK = """\
format: kernelwright/task-file/1
name: scaled_sum
description: A sum.
family: reduction
inputs:
  - {name: x, axes: [rows, columns], dtype: float32, domain: {low: -1.0, high: 1.0, structure: rows}}
workloads:
  - {name: small, set: {rows: 8, eps: 1e-3}, weight: 2.0}
  - {name: large, set: {}}
tolerance: {error_ratio: 8.0}
policy: {forbid_regression: true}
torch_ops: [sum]
licence: Apache-2.0
source: test
"""
REFERENCE = """\
import torch

rows = 64
columns = 32
eps = 1e-5


class Model(torch.nn.Module):
    def forward(self, x, scale=1.0):
        return x.sum(1) * scale + eps


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
"""
KERNEL = '#include "kernelwright.h"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "scaled_sum"
    made.mkdir()
    (made / "task.yaml").write_text(TASK)
    (made / "reference.py").write_text(REFERENCE)
    return made


def load(folder: Path, **overrides) -> Task:
    return NativeLoader().load(folder, overrides=overrides)


def edit(folder: Path, old: str, new: str, *, file: str = "task.yaml") -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def refusal(folder: Path, **overrides) -> TaskError:
    with pytest.raises(TaskError) as caught:
        load(folder, **overrides)
    assert caught.value.exit_code == 2
    return caught.value


def test_everything_stated_arrives(folder):
    task = load(folder)
    assert task.name == "scaled_sum"
    assert task.reference == REFERENCE
    assert task.inputs == (
        InputSpec(name="x", axes=("rows", "columns"), dtype="float32", domain=Domain(low=-1, high=1, structure="rows")),
    )
    assert [(w.name, w.set, w.weight, w.reduced) for w in task.workloads] == [
        ("small", {"rows": 8, "eps": 1e-3}, 2.0, False),
        ("large", {}, 1.0, False),
    ]
    assert task.tolerance.error_ratio == 8.0
    assert task.policy.forbid_regression
    assert task.format_kind == "native"
    assert task.path == str(folder)
    assert task.start is None


def test_it_is_a_loader_for_folders_and_their_file(folder):
    loader: TaskLoader = NativeLoader()
    assert loader.accepts(folder)
    assert loader.accepts(folder / "task.yaml")
    assert not loader.accepts(folder / "reference.py")
    assert load(folder / "task.yaml") == load(folder)


def test_overrides_replace_the_workloads(folder):
    task = load(folder, rows=3)
    assert [(w.name, w.set, w.weight, w.reduced) for w in task.workloads] == [("custom", {"rows": 3}, 1.0, False)]
    assert task.id != load(folder).id
    assert refusal(folder, row=3).message.endswith("reference.py: no module constant 'row' to set")


def test_the_name_and_place_of_a_folder_do_not_matter(folder, tmp_path):
    folder.rename(tmp_path / "elsewhere")
    assert load(tmp_path / "elsewhere").name == "scaled_sum"


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("tolerance:", "tolerence:", ":10: unknown key 'tolerence'", "did you mean 'tolerance'?"),
        ("dtype:", "dtyp:", ":6: unknown key 'inputs.dtyp'", "did you mean 'dtype'?"),
        ("structure:", "struct:", ":6: unknown key 'inputs.domain.struct'", "did you mean 'structure'?"),
        ("weight:", "wieght:", ":8: unknown key 'workloads.wieght'", "did you mean 'weight'?"),
        ("family: reduction", "name: again", ":4: key 'name' is given twice", "keep one"),
        ("task-file/1", "task-file/2", ":1: format 'kernelwright/task-file/2' is not", "upgrade kernelwright"),
        ("format: kernelwright/task-file/1\n", "", ": format is missing", "start the file with `format:"),
        ("licence: Apache-2.0", "licence:", ": licence is missing", "every task states format, name, licence, source"),
        ("name: scaled_sum", "name: a b", ":2: name: String should match pattern", "correct that value"),
        ("weight: 2.0", "weight: 0", ":8: workloads.0.weight: Input should be greater than 0", "correct that value"),
        ("structure: rows", "structure: cols", ":6: inputs.0.domain.structure: Input should be 'free'", "correct"),
        ("name: large", "name: small", "workloads need distinct names, got ['small', 'small']", "correct"),
        ("rows: 8", "row: 8", ":8: no module constant 'row' to set", "did you mean 'rows'"),
        ("eps: 1e-3", "eps: tiny", ":8: eps is a number (1e-05), it cannot be set to 'tiny'", "of the same kind"),
        ("name: x, axes", "name: y, axes", ":5: inputs are ['y'], but Model.forward takes ['x', 'scale']", "order"),
        ("description: A sum.", "description: [A", "cannot be parsed as YAML", "correct that line"),
        ("torch_ops: [sum]", "start: {language: cpp}", "start needs exactly the keys language, entry_file", ""),
        ("torch_ops: [sum]", "start: {language: cpp, entry_file: kernel.cpp}", "there is no folder", "drop `start`"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(folder, old, new, message, hint):
    edit(folder, old, new)
    error = refusal(folder)
    assert message in error.message
    assert str(folder / "task.yaml") in error.message
    assert hint in error.hint


def test_missing_and_unreadable_files_are_named(folder):
    (folder / "reference.py").write_bytes(b"\xff\xfe")
    assert refusal(folder).message == f"{folder / 'reference.py'}: is not UTF-8 text"
    (folder / "reference.py").unlink()
    assert refusal(folder).message == f"{folder / 'reference.py'}: no such file"
    (folder / "task.yaml").write_text("- 1\n")
    assert "is no task file" in refusal(folder).message
    (folder / "task.yaml").write_text("")
    assert "is no task file" in refusal(folder).message


def test_a_reference_without_get_inputs_is_refused(folder):
    edit(folder, "def get_inputs", "def inputs", file="reference.py")
    assert refusal(folder).message == f"{folder / 'reference.py'}: no function get_inputs"


def test_the_start_kernel_is_read(folder):
    edit(folder, "torch_ops: [sum]", "start: {language: cpp, entry_file: kernel.cpp}")
    (folder / "start").mkdir()
    (folder / "start" / "kernel.cpp").write_text(KERNEL)
    (folder / "start" / "table.h").write_text("// table\n")
    start = load(folder).start
    assert start.language == "cpp"
    assert start.files == {"kernel.cpp": KERNEL, "table.h": "// table\n"}
    edit(folder, "entry_file: kernel.cpp", "entry_file: main.cpp")
    assert "start.entry_file 'main.cpp' is not in" in refusal(folder).message
    edit(folder, "language: cpp, entry_file: main.cpp", "language: cobol, entry_file: kernel.cpp")
    assert "start.language: Input should be" in refusal(folder).message


def test_writing_back_keeps_the_identity(folder, tmp_path):
    task = load(folder).model_copy(update={"start": start_kernel(_kernel_file(tmp_path))})
    file = save_task(task, tmp_path / "copy", comment="Two\nlines")
    assert file.read_text().startswith("# Two\n# lines\nformat: kernelwright/task-file/1\n")
    again = load(tmp_path / "copy")
    assert again.id == task.id
    assert again.model_copy(update={"path": ""}) == task.model_copy(update={"path": ""})


def test_nothing_is_overwritten(folder):
    with pytest.raises(TaskError, match="exists already"):
        save_task(load(folder), folder)
    save_task(load(folder), folder, replace=True)


def test_a_folder_that_cannot_be_written_is_a_clear_error(folder, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TaskError, match="cannot write the task"):
        save_task(load(folder), tmp_path / "file" / "copy")


def test_start_kernels_from_files_and_folders(tmp_path):
    file = _kernel_file(tmp_path)
    assert start_kernel(file).entry_file == "slow.cpp"
    both = tmp_path / "both"
    both.mkdir()
    (both / "a.cpp").write_text("")
    (both / "b.cpp").write_text("")
    with pytest.raises(TaskError, match="cannot tell which file holds the start kernel"):
        start_kernel(both)
    (both / "kernel.cpp").write_text(KERNEL)
    assert start_kernel(both).entry_file == "kernel.cpp"
    with pytest.raises(TaskError, match="no such start kernel"):
        start_kernel(tmp_path / "none.cpp")


def test_a_custom_workload_is_reduced_only_below_the_original():
    own = {"n": 16, "shape": (4, 4)}
    assert custom_workload({"n": 8}, own, label_reduced=True).reduced
    assert custom_workload({"shape": [4, 2]}, own, label_reduced=True).reduced
    assert not custom_workload({"n": 32}, own, label_reduced=True).reduced
    assert not custom_workload({"n": 8}, own, label_reduced=False).reduced


def _kernel_file(tmp_path: Path) -> Path:
    file = tmp_path / "slow.cpp"
    file.write_text(KERNEL)
    return file
