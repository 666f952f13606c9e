"""Which language a file for a GPU is in, and what is told of one that nobody could launch."""

import pytest
from fakes import gpu_kernels as gpu

from kernelwright.errors import CandidateError, UnknownName
from kernelwright.records import Entry
from kernelwright.tasks.candidate_files import load_candidate


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (gpu.SCALE, "cuda"),
        (gpu.HOST, "cuda"),
        (gpu.CUTE_COPY, "cute"),
        (gpu.CUTE_COPY.replace("// language: cute\n", ""), "cute"),
        (gpu.KITTENS.replace("// language: thunderkittens\n", ""), "thunderkittens"),
        ("// language: cuda\n" + gpu.KITTENS.replace("// language: thunderkittens\n", ""), "cuda"),
    ],
)
def test_a_cu_file_tells_its_language(tmp_path, text, language):
    (tmp_path / "kernel.cu").write_text(text)
    for path in (tmp_path / "kernel.cu", tmp_path):
        found = load_candidate(path)
        assert (found.language, found.entry, found.entry_file) == (language, Entry.C, "kernel.cu")


def test_headers_beside_it_belong_to_it_and_tunables_are_read(tmp_path):
    (tmp_path / "kernel.cu").write_text(gpu.SCALE)
    (tmp_path / "above.cuh").write_text("// a header")
    found = load_candidate(tmp_path)
    assert [f.path for f in found.files] == ["above.cuh", "kernel.cu"]
    assert found.tunable_values() == {"BLOCK": 128}


def test_flags_are_read_from_their_line(tmp_path):
    (tmp_path / "kernel.cu").write_text("// flags: -use_fast_math -maxrregcount=64\n" + gpu.SCALE)
    assert load_candidate(tmp_path / "kernel.cu").flags == ("-use_fast_math", "-maxrregcount=64")


def test_a_triton_module_is_told_from_a_torch_one(tmp_path):
    (tmp_path / "kernel.py").write_text(gpu.TRITON)
    assert load_candidate(tmp_path / "kernel.py").language == "triton"
    (tmp_path / "kernel.py").write_text("import torch\nclass ModelNew(torch.nn.Module):\n    pass\n")
    assert load_candidate(tmp_path / "kernel.py").language == "torch"


def test_what_nothing_launches_is_refused_with_the_line_that_is_missing(tmp_path):
    path = tmp_path / "kernel.cu"
    path.write_text("__global__ void k() {}\n")
    with pytest.raises(CandidateError) as error:
        load_candidate(path)
    assert "// launch:" in str(error.value)
    path.write_text("// language: cudda\n" + gpu.SCALE)
    with pytest.raises(UnknownName, match="cudda"):
        load_candidate(path)
