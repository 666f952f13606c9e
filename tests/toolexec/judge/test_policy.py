"""Whose work is it: what a module calls is seen, its own kernels are failed on purpose, libraries are read."""

import shutil
import textwrap

import pytest
from fakes.kernels import RIGHT, cpp, module, small_task

from kernelwright.errors import JudgeError
from kernelwright.protocols import JudgeSettings
from kernelwright.records import Depth, KernelPolicy, Status
from kernelwright.toolexec.executors.local import LocalExecutor
from kernelwright.toolexec.judge.elf import Symbols, read_symbols
from kernelwright.toolexec.judge.policy import check_library
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.languages.cpp import CppLanguage

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
SLOW = pytest.mark.slow
BUILD = textwrap.dedent(
    """
    import ctypes, os, subprocess, tempfile
    SOURCE = '''
    extern "C" void scaled_relu(const float* x, const float* w, const float* b, float* y,
                                long rows, long cols, float f) {
      for (long i = 0; i < rows * cols; i++) {
        float v = x[i] * w[i % cols] * f + b[i % cols];
        y[i] = v > 0 ? v : 0;
      }
    }
    '''
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "k.cpp"), "w") as stream:
        stream.write(SOURCE)
    subprocess.run(["g++", "-O2", "-shared", "-fPIC", "k.cpp", "-o", "libscaled.so"], cwd=folder, check=True)
    library = ctypes.CDLL(os.path.join(folder, "libscaled.so"))
    library.scaled_relu.restype = None
    library.scaled_relu.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_long] * 2 + [ctypes.c_float]

    def own(x, w, b, factor):
        y = torch.empty_like(x)
        library.scaled_relu(x.data_ptr(), w.data_ptr(), b.data_ptr(), y.data_ptr(), x.shape[0], x.shape[1], factor)
        return y
    """
)
CALL = "own(x, self.weight, self.bias, self.factor)"


def forward(*lines: str) -> str:
    """A forward without the reference's own line before it."""
    return "\n".join(f"        {line}" for line in lines)


def candidate(*lines: str):
    made = module(forward(*lines), before=BUILD)
    text = made.files[0].text.replace("        right = torch.relu(x * self.weight * self.factor + self.bias)\n", "")
    return made.model_copy(update={"files": (made.files[0].model_copy(update={"text": text}),)})


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    task = small_task(workloads=({"name": "small"},), policy=KernelPolicy(own_kernel=True))
    settings = JudgeSettings(cache_dir=tmp_path_factory.mktemp("cache"), baselines=("eager",))
    with LocalExecutor().open(task, settings=settings) as opened:
        yield opened


def test_a_module_with_a_kernel_of_its_own_passes_and_says_so(session):
    found = session.evaluate(candidate(f"return {CALL}"), depth=Depth.FULL)
    assert found.status is Status.PASSED, found.failure
    assert any("own kernel" in note and "scaled_relu" in note for note in found.static_notes)


def test_small_work_of_operators_with_numbers_is_counted_and_allowed(session):
    made = candidate("return " + CALL.replace("self.bias", "self.bias * 1 + 0"))
    found = session.evaluate(made, depth=Depth.FULL)
    assert found.status is Status.PASSED, found.failure
    assert any("aten.mul" in note and "% of the arithmetic" in note for note in found.static_notes)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["return torch.relu(x * self.weight * self.factor + self.bias)"], "no kernel of its own"),
        (
            ["try:", f"    return {CALL}", "except Exception:", "    return torch.addcmul(self.bias, x, self.weight * "
             "self.factor).relu()"],
            "made to fail",
        ),
        pytest.param(
            ["y = x.numpy() * self.weight.detach().numpy() * float(self.factor) + self.bias.detach().numpy()",
             "return torch.from_numpy(y.clip(0))"], "what cannot be seen", marks=SLOW),
        (
            ["from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as stack",
             f"return {CALL} if stack() else torch.relu(x * self.weight * self.factor + self.bias)"],
            "where no log shows it",
        ),
        pytest.param([f"{CALL}[:1]", "return torch.relu(x * self.weight * self.factor + self.bias)"], "%", marks=SLOW),
        pytest.param([f"return torch.relu({CALL})"], "%", marks=SLOW),
    ],
    ids=["library", "fallback", "arrays", "watched", "dead", "shared"],
)  # fmt: skip
def test_work_of_libraries_ends_as_policy(session, lines, words):
    found = session.evaluate(candidate(*lines), depth=Depth.FULL)
    assert found.status is Status.POLICY
    assert found.failure is not None and words in found.failure.message


def test_a_cpp_kernel_is_its_own_unless_it_opens_libraries(session):
    assert session.evaluate(cpp(RIGHT), depth=Depth.FULL).status is Status.PASSED
    opening = cpp('  void* h = dlopen("libm.so.6", 1); (void)h;' + RIGHT, before="#include <dlfcn.h>")
    found = session.evaluate(opening, depth=Depth.FULL)
    assert found.status is Status.POLICY
    assert found.failure is not None and "dlopen" in found.failure.message


def test_a_library_is_read_without_loading_it(session, tmp_path):
    made = cpp("  for (int64_t i = 0; i < rows * cols; i++) y[i] = std::tanh(x[i]);")
    built = CppLanguage().build(made, session.facts, workload="small", folder=tmp_path, timeout_s=60)
    assert built.artifact is not None
    symbols = read_symbols(built.artifact)
    assert any(name.startswith("libm.so") for name in symbols.needed)
    assert "tanhf" in symbols.undefined
    assert check_library("small", symbols)


@pytest.mark.parametrize("name", ["cblas_sgemm", "sgemm_", "mkl_sparse_s_mv", "_ZN2at4_ops4gelu4callE", "cublasSgemm"])
def test_symbols_of_libraries_are_known(name):
    for symbols in (Symbols((), (name,)), Symbols(("libmkl_rt.so.2",), ())):
        with pytest.raises(Rejection, match="left to a library"):
            check_library("small", symbols)


@pytest.mark.parametrize(
    "name",
    ["PyRun_SimpleStringFlags", "PyImport_ImportModule", "_Py_NoneStruct", "dl_iterate_phdr", "dladdr1@GLIBC_2.3.3"],
)
def test_what_any_library_can_be_had_through_is_refused(name):
    with pytest.raises(Rejection, match="opens libraries"):
        check_library("small", Symbols(("libc.so.6",), (name,)))


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 200, b"MZ" * 100])
def test_nonsense_is_no_library(data, tmp_path):
    path = tmp_path / "kernel.so"
    path.write_bytes(data)
    with pytest.raises(JudgeError):
        read_symbols(path)
