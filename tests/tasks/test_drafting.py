"""``tasks add``: from a reference, and from a C++ or CUDA function."""

import ast
import shutil
import subprocess
from pathlib import Path

import pytest

from kernelwright.errors import TaskError, UnknownName
from kernelwright.tasks import find_task, standard_roots
from kernelwright.tasks.drafting import add_task, choose_function, draft_from_cpp
from kernelwright.tasks.loading import shipped_tasks
from kernelwright.tasks.source import FILL_IN

REFERENCE = '''\
import torch
import torch.nn as nn

batch = 32
classes = 10
shape = (4, 5)


class Model(nn.Module):
    """Cross entropy."""

    def forward(self, logits, targets, extra):
        return torch.nn.functional.cross_entropy(logits, targets) * extra.exp()[0, 0, 0]


def get_inputs():
    targets = torch.randint(0, classes, (batch,))
    return [torch.rand(batch, classes), targets, torch.randn(3, *shape, dtype=torch.float64)]


def get_init_inputs():
    return []
'''
CPP = """\
#include <cstdint>
// int commented_out(int a) { }
void blur(const float *src, float *__restrict dst, int height, int width, float gain) {
  for (int i = 0; i < height * width; i++) { if (i >= 0) { dst[i] = src[i] * gain; } }
}
"""


@pytest.fixture
def roots(tmp_path: Path):
    return standard_roots(tmp_path / "tasks")


def write(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_what_parsing_can_tell_is_derived(tmp_path, roots):
    folder = add_task(write(tmp_path, "loss.py", REFERENCE), roots)
    task = find_task("loss", None, roots)
    assert folder == roots.user / "loss"
    assert task.reference == REFERENCE
    assert (task.format_kind, task.family, task.licence) == ("native", "loss", "unstated")
    assert task.description == "Cross entropy."
    found = [(i.name, i.axes, i.dtype, i.domain.low, i.domain.high) for i in task.inputs]
    assert found == [
        ("logits", ("batch", "classes"), "float32", 0.0, 1.0),
        ("targets", ("batch",), "int64", 0.0, 9.0),
        ("extra", ("axis0", "shape_0", "shape_1"), "float64", None, None),
    ]
    assert (folder / "task.yaml").read_text().startswith("# Drafted from a reference in KernelBench's form.")


def test_inputs_that_cannot_be_read_are_left_open(tmp_path, roots):
    text = REFERENCE.replace("return [torch.rand(batch, classes)", "return [make(batch, classes)")
    add_task(write(tmp_path, "loss.py", text), roots)
    assert find_task("loss", None, roots).inputs == ()


def test_a_native_task_is_copied(roots):
    add_task(shipped_tasks() / "box_blur_3x3", roots, name="my_blur")
    mine, shipped = find_task("my_blur", None, roots), find_task("box_blur_3x3")
    assert mine.workloads == shipped.workloads
    assert mine.start == shipped.start


def test_taken_names_and_unfit_files_are_refused(tmp_path, roots):
    file = write(tmp_path, "loss.py", REFERENCE)
    with pytest.raises(TaskError) as caught:
        add_task(file, roots, name="row_sum")
    assert caught.value.message.startswith("there is a task 'row_sum' already")
    assert caught.value.hint == "choose another --name"
    with pytest.raises(TaskError, match="no class Model"):
        add_task(write(tmp_path, "empty.py", ""), roots)
    with pytest.raises(TaskError, match="there is no folder of your own"):
        add_task(file, standard_roots())
    assert not roots.user.exists()


def test_a_cpp_draft_is_refused_until_it_is_filled_in(tmp_path, roots):
    folder = draft_from_cpp(write(tmp_path, "mine.cpp", CPP), roots)
    assert folder.name == "blur"
    with pytest.raises(TaskError) as caught:
        find_task("blur", None, roots)
    assert "reference.py:6: the draft is not finished, 6 line(s) still hold KW-FILL-IN" in caught.value.message

    reference = (folder / "reference.py").read_text()
    ast.parse(reference)
    filled = reference.replace("raise NotImplementedError", "return src * self.gain").replace(
        "randn(height)", "randn(height, width)"
    )
    (folder / "reference.py").write_text(filled.replace(FILL_IN, "done"))
    with pytest.raises(TaskError, match=r"kernel\.cpp:\d+: the draft is not finished, 2 line"):
        find_task("blur", None, roots)

    kernel = folder / "start" / "kernel.cpp"
    kernel.write_text(kernel.read_text().replace(FILL_IN, "done"))
    task = find_task("blur", None, roots)
    assert task.start.files["kernel.cpp"].startswith(CPP)
    assert (task.start.language, task.start.entry_file) == ("cpp", "kernel.cpp")


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_drafted_entry_compiles(tmp_path, roots):
    import kernelwright.tasks

    header = Path(kernelwright.tasks.__file__).parents[1] / "toolexec" / "languages"
    folder = draft_from_cpp(write(tmp_path, "mine.cpp", CPP), roots)
    command = ["g++", "-fsyntax-only", "-Wall", "-Werror", f"-I{header}", str(folder / "start" / "kernel.cpp")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_a_cuda_function_gets_a_launch_to_fill_in(tmp_path, roots):
    text = "__global__ void scale(float *y, const float *x, int n) {\n  y[0] = x[0] * n;\n}\n"
    folder = draft_from_cpp(write(tmp_path, "mine.cu", text), roots, name="my_scale")
    kernel = (folder / "start" / "kernel.cu").read_text()
    assert "scale<<<1, 256, 0, (cudaStream_t)stream>>>(  // KW-FILL-IN: the launch" in kernel
    assert "language: cuda" in (folder / "task.yaml").read_text()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("int x = 3;", "f.cpp: no function definition found", "bring a plain C function"),
        ("void a(float *y) {}\nvoid b(float *y) {}", "f.cpp: several functions: a, b", "--function NAME"),
        ("void a(const float *x, int n) {}", "f.cpp: a writes to no pointer, so it has no output", "non-const"),
        ("void a(std::vector<float> v, float *y) {}", "f.cpp: parameter `std::vector<float> v` is neither", "plain C"),
        ("void a(float **x, float *y) {}", "f.cpp: parameter `float **x` is neither", "plain C"),
        ("void a(const size_t *x, float *y) {}", "f.cpp: parameter `const size_t *x` is neither", "plain C"),
    ],
)  # fmt: skip
def test_functions_that_cannot_be_wrapped(text, message, hint):
    with pytest.raises(TaskError) as caught:
        choose_function(text, "", where="f.cpp")
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint


def test_a_function_can_be_chosen(tmp_path, roots):
    text = "static float helper(float a) { return a; }\nvoid run(const uint8_t *x, uint8_t *y, size_t n) {}\n"
    function = choose_function(text, "run", where="f.cpp")
    assert [(p.name, p.kind, p.dtype) for p in function.parameters] == [
        ("x", "input", "uint8"), ("y", "output", "uint8"), ("n", "size", ""),
    ]  # fmt: skip
    with pytest.raises(UnknownName, match="unknown function 'rum'"):
        choose_function(text, "rum", where="f.cpp")
    with pytest.raises(TaskError, match="is no C\\+\\+ or CUDA source"):
        draft_from_cpp(write(tmp_path, "a.py", ""), roots)
