"""C++: the contract, flags, the cache, and the file that is taken home."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from contracts.language import FACTS, LanguageContract
from fakes.kernels import RIGHT, RIGHT_CPP, TUNED_CPP, cpp, small_task
from toolexec.conftest import needs_compiler

from kernelwright.toolexec.languages.cpp import CppLanguage

pytestmark = needs_compiler


class TestCpp(LanguageContract):
    name = "cpp"
    right = RIGHT_CPP
    broken = cpp("  not C++ at all;")


def test_the_guide_shows_what_the_header_declares():
    guide = CppLanguage().guide()
    for words in ("int32_t ndim;", "int64_t shape[KW_MAX_DIMS];", "double f; ", "int32_t threads;", "} kw_workspace;"):
        assert words in guide
    assert "#endif" not in guide[guide.index("kernelwright.h declares") :]
    assert "`scalars[i].f`" in guide


def build(candidate, folder: Path, timeout_s: float = 60.0):
    return CppLanguage().build(candidate, FACTS, workload="small", folder=folder, timeout_s=timeout_s)


def test_tunables_flags_and_text_make_another_build(tmp_path):
    made = [
        build(c, tmp_path).artifact
        for c in (RIGHT_CPP, cpp(RIGHT, flags=("-O2",)), TUNED_CPP, TUNED_CPP.with_tunables({"STEP": 1}))
    ]
    assert len(set(made)) == 4 and None not in made


@pytest.mark.parametrize("flag", ["-l/x", "-I/etc", "-include", "/etc/passwd", "-fplugin=x.so", "-Wl,-rpath,/x", "-o"])
def test_flags_that_reach_outside_are_refused(tmp_path, flag):
    built = build(cpp(RIGHT, flags=(flag,)), tmp_path)
    assert not built.ok and flag in built.log


@pytest.mark.parametrize("flag", ["-ffast-math", "-O2", "-funroll-loops", "-mprefer-vector-width=512", "-DSTEP=3"])
def test_harmless_flags_are_taken(tmp_path, flag):
    assert build(cpp(RIGHT, flags=(flag,)), tmp_path).ok


def test_errors_name_the_line_and_nothing_of_this_machine(tmp_path):
    built = build(cpp("  int z = undeclared;"), tmp_path)
    assert "kernel.cpp:" in built.log and "undeclared" in built.log
    assert "/tmp" not in built.log


def test_a_flood_of_errors_is_cut(tmp_path):
    built = build(cpp("\n".join(f"  e{i} = {i};" for i in range(300))), tmp_path)
    assert not built.ok and len(built.log) <= 1600


def test_a_compiler_that_does_not_end_is_stopped(tmp_path):
    depths = range(1, 30)
    endless = "".join(
        f"template <int A> struct G{i} {{ using t = typename G{i - 1}<A*2>::t; "
        f"using u = typename G{i - 1}<A*2+1>::t; }};"
        for i in depths
    )
    bomb = cpp("  G29<1>::t z;", before="template <int A> struct G0 { typedef int t; };\n" + endless)
    start = time.monotonic()
    built = build(bomb, tmp_path, timeout_s=2.0)
    assert not built.ok
    assert time.monotonic() - start < 10
    assert not list(tmp_path.iterdir())


def test_without_a_compiler_it_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    available = CppLanguage().availability()
    assert not available.ok and "apt install g++" in available.detail
    assert "no C++ compiler" in build(RIGHT_CPP, tmp_path).log


PREPARED = cpp(
    "  const float* packed = (const float*)ws->state;\n"
    "  for (int64_t i = 0; i < rows * cols; i++) y[i] = std::max(0.0f, x[i] * packed[i % cols] + b[i % cols]);",
    before="""
KW_EXPORT int kw_prepare(const kw_tensor* in, const kw_scalar* scalars, kw_workspace* ws) {
  if (in[0].data != nullptr || in[1].data == nullptr || ws->n_params != 2) return 3;
  float* packed = (float*)malloc(in[1].shape[0] * 4);
  for (int64_t i = 0; i < in[1].shape[0]; i++) packed[i] = ((const float*)in[1].data)[i] * (float)scalars[0].f;
  ws->state = packed;
  return 0;
}
""",
)
CHECK = """
import sys, importlib.util, torch
spec = importlib.util.spec_from_file_location("taken_home", sys.argv[1])
home = importlib.util.module_from_spec(spec)
spec.loader.exec_module(home)
assert "kernelwright" not in sys.modules
torch.manual_seed(7); old = home.Model(*home.get_init_inputs())
torch.manual_seed(7); new = home.ModelNew(*home.get_init_inputs())
for round in range(2):
    with torch.no_grad():
        for a in old.parameters(): a.normal_()
    new.load_state_dict(old.state_dict())
    for rows in (33, 5):
        x = torch.randn(rows, 97)
        got, want = new(x), old(x)
        assert type(got) is torch.Tensor and got.shape == want.shape
        assert torch.allclose(got, want, atol=1e-6), (got - want).abs().max()
    assert torch.allclose(new(torch.randn(97, 33).t()[:4]), new(torch.randn(97, 33).t()[:4])) is False
print("right")
"""


@pytest.mark.parametrize("candidate", [RIGHT_CPP, TUNED_CPP, PREPARED], ids=["plain", "tuned", "prepared"])
def test_what_is_taken_home_runs_alone_and_is_right(tmp_path, candidate):
    file = tmp_path / "model_new.py"
    file.write_text(CppLanguage().export(candidate, small_task(), FACTS))
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(file)], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.stdout.strip() == "right", done.stderr


def test_what_is_taken_home_raises_without_a_compiler(tmp_path):
    file = tmp_path / "model_new.py"
    file.write_text(CppLanguage().export(RIGHT_CPP, small_task(), FACTS))
    environment = {"PATH": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(file)], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode != 0
    assert "needs a C++ compiler" in done.stderr
