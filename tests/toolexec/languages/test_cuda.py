"""CUDA without a GPU: the contract, every architecture, facts against ptxas' own words, and what is broken."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from contracts.language import FACTS, LanguageContract
from fakes import gpu_kernels as gpu
from fakes.gpu_kernels import ARCHITECTURES, cuda, needs_nvcc, needs_nvdisasm, needs_nvrtc
from fakes.kernels import small_task

from kernelwright.records import SourceFile
from kernelwright.toolexec.languages import language, toolchain
from kernelwright.toolexec.languages.cubin import CubinError, read_cubin, read_cubin_file
from kernelwright.toolexec.languages.cuda import CudaLanguage
from kernelwright.toolexec.languages.gpu_messages import ptxas_words
from kernelwright.toolexec.languages.sass import flops_of, kind_of, width_of

pytestmark = needs_nvrtc


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """One cache for all tests of this file."""
    return tmp_path_factory.mktemp("builds")


def build(candidate, folder: Path, timeout_s: float = 60.0):
    return CudaLanguage().build(candidate, FACTS, workload="small", folder=folder, timeout_s=timeout_s)


def known(candidate, folder: Path):
    built = build(candidate, folder)
    assert built.ok, built.log
    return CudaLanguage().statics(built.artifact, candidate, FACTS)


class TestCuda(LanguageContract):
    name = "cuda"
    right = cuda(gpu.SCALE, architecture="sm_90a")
    broken = cuda(gpu.SYNTAX, architecture="sm_90a")


@needs_nvdisasm
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_facts_are_ptxas_own_words_on_every_architecture(builds, architecture):
    candidate = cuda(gpu.SUMMED, architecture=architecture)
    built = build(candidate, builds)
    assert built.ok, built.log
    words = ptxas_words((built.artifact / "ptxas.txt").read_text())
    facts = {k.kernel: k for k in CudaLanguage().statics(built.artifact, candidate, FACTS).kernels}
    assert set(words) == set(facts) == {"scale", "add_up"}
    for name, told in words.items():
        fact = facts[name]
        assert fact.registers == told.registers > 0
        assert fact.static_shared_bytes == told.shared_bytes == (1024 if name == "add_up" else 0)
        assert (fact.spill_store_bytes, fact.spill_load_bytes) == (told.spill_store_bytes, told.spill_load_bytes)
        assert fact.stack_bytes == told.stack_bytes
        assert bool(fact.sass.get("block_barrier")) == bool(told.barriers) or name == "scale"
    assert facts["add_up"].block_threads == 256 and facts["scale"].grid_blocks == {"small": 33}


def test_a_cubin_says_what_a_kernel_takes(builds):
    built = build(cuda(gpu.SUMMED, architecture="sm_80"), builds)
    kernels = {k.name: k for k in read_cubin_file(built.artifact / "kernel.cubin")}
    assert [p.size for p in kernels["scale"].parameters] == [8, 8, 8, 8, 4, 4]
    assert [p.size for p in kernels["add_up"].parameters] == [8, 8, 8]
    assert kernels["add_up"].max_threads == 256 and kernels["scale"].max_threads is None


def test_bytes_that_are_no_cubin_are_data(builds):
    good = (build(cuda(gpu.SUMMED, architecture="sm_80"), builds).artifact / "kernel.cubin").read_bytes()
    for data in (b"", b"\x7fELF", good[:100], good[: len(good) // 2], b"\x7fELF" + bytes(200)):
        with pytest.raises(CubinError):
            read_cubin(data)
    for at in range(16, 400, 7):
        with_error = good[:at] + b"\xff" + good[at + 1 :]
        try:
            read_cubin(with_error)
        except CubinError:
            continue


@needs_nvdisasm
def test_spills_are_told_and_guessed_at(builds):
    (kernel,) = known(cuda(gpu.SPILLING, architecture="sm_80", flags=("-maxrregcount=32",)), builds).kernels
    assert kernel.registers == 32
    assert kernel.spill_store_bytes > 0 and kernel.stack_bytes > 0
    assert kernel.sass["local_load"] > 0 and kernel.sass["local_store"] > 0
    assert kernel.guess.startswith("guess: local memory")


@needs_nvdisasm
def test_work_of_a_launch_follows_from_code_without_loops(builds):
    (kernel,) = known(cuda(gpu.SCALE, architecture="sm_80"), builds).kernels
    threads = kernel.grid_blocks["small"] * kernel.block_threads
    assert kernel.bytes_per_launch == {"small": 16 * threads}  # three loads, one store
    assert not known(cuda(gpu.SUMMED, architecture="sm_80"), builds).kernels[0].bytes_per_launch


@pytest.mark.parametrize(
    ("text", "architecture", "words"),
    [
        (gpu.SYNTAX, "sm_90a", 'expected a ")"'),
        (gpu.STATIC_SHARED, "sm_80", "too much shared data"),
        (gpu.HOPPER_ONLY, "sm_80", "not supported on .target 'sm_80'"),
        (gpu.WRONG_ARGUMENTS, "sm_80", "passes 5 arguments, the kernel takes 6"),
        (gpu.SCALE.replace("cols, float(scalar0)", "int64(cols), float(scalar0)"), "sm_80", "has 8 bytes"),
        (gpu.SCALE.replace("launch: scale", "launch: scaled"), "sm_80", "none of the kernels"),
        (gpu.SCALE.replace("// launch:", "// lunch:"), "sm_80", "nothing says how its kernels are called"),
        (gpu.SCALE.replace("rows)", "lines)"), "sm_80", "lines is not known here"),
        ("// architectures: sm_90a\n" + gpu.SCALE, "sm_80", "for sm_90a, and sm_80 was asked for"),
        (gpu.SCALE, "sm_70", "unknown architecture sm_70"),
        (gpu.SCALE, "sm_80; rm -rf", "unknown architecture"),
    ],
)
def test_what_is_broken_is_told_shortly(tmp_path, text, architecture, words):
    built = build(cuda(text, architecture=architecture), tmp_path)
    assert not built.ok and words in built.log
    assert 0 < len(built.log) <= 1500 and str(tmp_path) not in built.log
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (gpu.REGISTER_OVERFLOW, "registers x 1024 threads"),
        (gpu.DYNAMIC_SHARED, "307200 bytes of shared memory"),
        (gpu.SUMMED.replace("add_up grid(rows) block(256)", "add_up grid(rows) block(512)"), "allow 256"),
    ],
)
def test_launches_that_no_device_takes_are_found(builds, text, words):
    found = known(cuda(text, architecture="sm_80"), builds)
    assert found.problems and words in found.problems[0]


@pytest.mark.parametrize("flag", ["-I/etc", "-include=/etc/passwd", "-l/x", "--output-file=/x", "-Xcompiler=-x"])
def test_flags_that_reach_outside_are_refused(tmp_path, flag):
    built = build(cuda(gpu.SCALE, flags=(flag,)), tmp_path)
    assert not built.ok and flag in built.log


def test_a_file_of_this_machine_cannot_be_included(tmp_path):
    secret = tmp_path / "secret.h"
    secret.write_text("int leaked;\n")
    built = build(cuda(f'#include "{secret}"\n' + gpu.SCALE, architecture="sm_80"), tmp_path)
    assert not built.ok and "secret.h" in built.log


def test_tunables_headers_and_architecture_make_another_build(builds):
    text = gpu.SCALE.replace("fmaxf(0.0f, ", "above(").replace("extern", '#include "above.h"\nextern', 1)
    header = SourceFile(path="above.h", text="__device__ inline float above(float x) { return x > 0 ? x : 0; }\n")
    split = cuda(text, architecture="sm_80")
    split = split.model_copy(update={"files": (*split.files, header)})
    made = [cuda(gpu.SCALE, architecture=a) for a in ("sm_80", "sm_89")] + [split]
    made += [made[0].with_tunables({"BLOCK": 64})]
    artifacts = [build(c, builds).artifact for c in made]
    assert None not in artifacts and len(set(artifacts)) == 4
    assert known(made[-1], builds).kernels[0].block_threads == 64


def test_two_at_once_build_one_thing_and_stale_folders_hang_nobody(tmp_path):
    (tmp_path / ".cuda-left-over").mkdir()
    (tmp_path / ".cuda-left-over" / ".owner").touch()
    results = []
    threads = [threading.Thread(target=lambda: results.append(build(cuda(gpu.SCALE), tmp_path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [r.ok for r in results] == [True, True]
    assert results[0].artifact == results[1].artifact
    assert json.loads((results[0].artifact / "build.json").read_text())["architecture"] == "sm_80"


@needs_nvcc
def test_time_is_up_for_the_compiler_and_its_children(tmp_path):
    start = time.monotonic()
    built = build(cuda(gpu.HOST, architecture="sm_90a"), tmp_path, timeout_s=0.3)
    assert not built.ok and "needed more than" in built.log
    assert time.monotonic() - start < 30
    below = [p for p in Path("/proc").iterdir() if p.name.isdigit() and _works_in(p, tmp_path)]
    assert not below and not list(tmp_path.iterdir())


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return os.readlink(process / "cwd").startswith(str(folder))
    except OSError:
        return False


@needs_nvcc
def test_host_code_becomes_a_library_with_the_entry(builds):
    built = build(cuda(gpu.HOST, architecture="sm_80"), builds)
    assert built.ok, built.log
    code = f"import ctypes; ctypes.CDLL({str(built.artifact / 'kernel.so')!r}).kw_run"
    subprocess.run([sys.executable, "-I", "-c", code], check=True, timeout=60)
    (kernel,) = CudaLanguage().statics(built.artifact, cuda(gpu.HOST, architecture="sm_80"), FACTS).kernels
    assert kernel.kernel == "scale" and kernel.block_threads == 128


def test_what_is_missing_is_told_with_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "cuda_roots", lambda: ())
    for name in ("cuda", "cute"):
        available = language(name).availability()
        assert not available.ok and "-m pip install" in available.detail and "\n" not in available.detail
    built = build(cuda(gpu.SCALE), tmp_path)
    assert not built.ok and "nvidia-cuda-nvrtc" in built.log


def test_instructions_are_told_apart():
    kinds = {
        "LDG.E.128": "global_load_128", "LDG.E.CONSTANT": "global_load", "LDGSTS.E.BYPASS.128": "async_copy",
        "HGMMA.64x128x16.F32": "tensor_wgmma", "HMMA.16816.F32": "tensor_mma", "UTMALDG.2D": "bulk_copy",
        "BAR.SYNC.DEFER_BLOCKING": "block_barrier", "SYNCS.PHASECHK.TRANS64": "async_barrier", "STL.64": "local_store",
        "UTCHMMA": "tensor_tcgen05", "LDSM.16.M88.4": "load_matrix", "FFMA": "fp32_fma", "NOP": None,
    }  # fmt: skip
    assert {opcode: kind_of(opcode) for opcode in kinds} == kinds
    widths = {"LDG.E.128": 16, "LDG.E": 4, "LDG.E.U8": 1, "STG.E.64": 8, "LDG.E.U16.CONSTANT": 2}
    assert {opcode: width_of(opcode) for opcode in widths} == widths
    work = {
        "FFMA": 2, "FADD.FTZ": 1, "FFMA2": 4, "HMMA.16816.F32.BF16": 128, "HMMA.1688.F32.TF32": 64, "DMMA.884": 16,
        "IMMA.16832.S8.S8": 256, "MOV": 0, "FSETP.GT": 0,
    }  # fmt: skip
    assert {opcode: flops_of(opcode) for opcode in work} == work


def test_the_guides_own_kernel_compiles(tmp_path):
    text = CudaLanguage().guide().partition("```cuda\n")[2].partition("```")[0]
    built = build(cuda(text, architecture="sm_80"), tmp_path)
    assert built.ok, built.log


@pytest.mark.parametrize(
    ("name", "define", "wrong"),
    [
        ("rows", "", 'identifier "INFINITY" is undefined'),
        ("norm", "INFINITY __int_as_float(0x7f800000)", "more than one instance of overloaded function"),
        ("rnorm", "INFINITY __int_as_float(0x7f800000)", "more than one instance of overloaded function"),
        ("rows", "INFINITY __int_as_float(0x7f800000)", ""),
    ],
)
def test_the_guide_is_right_about_infinity_and_names_that_are_taken(builds, name, define, wrong):
    guard = f"#ifndef INFINITY\n#define {define}\n#endif\n" if define else ""
    text = f"""// launch: {name} grid(1) block(32) args(in0, out0)
{guard}extern "C" __global__ void {name}(const float* x, float* y) {{
  y[threadIdx.x] = fmaxf(x[threadIdx.x], -INFINITY);
}}"""
    built = build(cuda(text, architecture="sm_80"), builds)
    assert built.ok is not bool(wrong) and wrong in built.log
    assert "`INFINITY`" in CudaLanguage().guide() and "`norm`" in CudaLanguage().guide()


@pytest.mark.parametrize("text", [gpu.SUMMED, gpu.HOST], ids=["launches", "host"])
def test_the_file_that_is_taken_home_holds_the_sources_and_says_what_it_needs(text):
    exported = CudaLanguage().export(cuda(text), small_task(), FACTS)
    compile(exported, "kernel.py", "exec")
    assert "__global__ void" in exported and "class ModelNew(Model)" in exported and "no silent" in exported


def test_the_file_that_is_taken_home_moves_tensors_that_do_not_start_at_sixteen_bytes():
    import torch

    space = {"__name__": "kernel"}
    exec(CudaLanguage().export(cuda(gpu.SUMMED), small_task(), FACTS), space)
    rows = torch.arange(33.0)
    assert rows.data_ptr() % 16 == 0 and space["_whole"](rows).data_ptr() == rows.data_ptr()
    moved = space["_whole"](rows[1:])
    assert moved.data_ptr() % 16 == 0 and torch.equal(moved, rows[1:])


@pytest.mark.slow
@pytest.mark.parametrize("text", [gpu.SUMMED, gpu.HOST], ids=["launches", "host"])
def test_it_is_made_without_a_gpu_and_fails_only_when_called(tmp_path, text):
    (tmp_path / "kernel.py").write_text(CudaLanguage().export(cuda(text), small_task(), FACTS))
    code = "import torch, kernel\nmodel = kernel.ModelNew(*kernel.get_init_inputs())\nprint(len(model.state_dict()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.strip() == "2", done.stderr
