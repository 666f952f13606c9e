"""Finding a task by name or path; what a missing one says."""

import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.errors import TaskError, UnknownName
from kernelwright.tasks import Roots, find_task, list_tasks, load_path, standard_roots
from kernelwright.tasks.loading import LOADERS, loader, shipped_tasks


@pytest.fixture
def user(tmp_path: Path) -> Roots:
    """A user's folder with one task of their own, under a name that none of the shipped has."""
    source = shipped_tasks() / "row_sum"
    folder = tmp_path / "tasks" / "mine"
    folder.mkdir(parents=True)
    (folder / "reference.py").write_text((source / "reference.py").read_text())
    (folder / "task.yaml").write_text((source / "task.yaml").read_text().replace("name: row_sum", "name: mine"))
    return standard_roots(tmp_path / "tasks")


def test_shipped_tasks_are_found_by_name():
    assert find_task("box_blur_3x3").name == "box_blur_3x3"


def test_ones_own_tasks_are_found_by_name(user):
    assert find_task("mine", None, user).name == "mine"
    assert [row.shelf for row in list_tasks(user) if row.name == "mine"] == ["user"]
    with pytest.raises(UnknownName):
        find_task("mine")


def test_paths_are_found(user, monkeypatch):
    assert find_task(user.user / "mine").name == "mine"
    assert find_task(user.user / "mine" / "task.yaml").name == "mine"
    monkeypatch.chdir(user.user)
    assert find_task("./mine").name == "mine"


def test_a_folder_here_does_not_shadow_a_shipped_task(tmp_path, monkeypatch):
    (tmp_path / "row_sum").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_task("row_sum").name == "row_sum"


def test_overrides_reach_the_loader():
    assert find_task("row_sum", {"rows": 3}).workloads[0].set == {"rows": 3}


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownName) as caught:
        find_task("box_blur_3x4")
    assert caught.value.message == "unknown task 'box_blur_3x4'"
    assert caught.value.hint.startswith("did you mean 'box_blur_3x3'? known: argmax_rows, ")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("path", ["none/here", "gone.py", "/no/such/folder"])
def test_a_missing_path_is_named(path):
    with pytest.raises(TaskError) as caught:
        find_task(path)
    assert caught.value.message == f"{path}: no such file or folder"
    assert "kernelwright tasks list" in caught.value.hint
    assert caught.value.exit_code == 2


def test_what_is_no_task_says_why(tmp_path):
    with pytest.raises(TaskError) as caught:
        load_path(tmp_path)
    assert caught.value.message == f"{tmp_path}: is no task, the folder holds no task.yaml"
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(TaskError, match="it is neither a task folder nor a Python file"):
        load_path(tmp_path / "a.txt")


def test_every_loader_of_the_registry_keeps_the_protocol():
    for name in LOADERS:
        made = loader(name)
        assert callable(made.accepts)
        assert callable(made.load)
    with pytest.raises(UnknownName, match="unknown task format 'onnx'"):
        loader("onnx")


def test_importing_the_loaders_imports_nothing_heavy():
    code = "import sys, kernelwright.tasks; print([m for m in ('torch', 'numpy', 'halide') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
