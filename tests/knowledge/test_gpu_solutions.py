"""The CuTe and ThunderKittens solutions compile for the architecture they name; their SASS shows what they claim."""

import datetime
import re
from pathlib import Path

import pytest
from knowledge.gpu_toolchain import ROOT, SOLUTIONS, compile_rung, ladder, need, sass

from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Entry, ReviewState

CLAIMS = {
    "cute-transpose": {
        "direct": ("LDG.E", "STG.E"), "tile": ("LDS", "STS"), "swizzle": ("LDS", "STS"),
        "async-vectors": ("LDGSTS.E.BYPASS.LTC128B.128", "STG.E.128"),
    },
    "cute-linear-f16": {
        "simt": ("FFMA",), "tensor-cores": ("HMMA.16816.F32", "LDSM"), "swizzle": ("HMMA.16816.F32", "LDSM"),
        "pipeline": ("HMMA.16816.F32", "LDSM", "LDGSTS"),
    },
    "cute-softmax": {
        "three-passes": ("MUFU.EX2", "SHFL.BFLY"), "online": ("LDG.E.128", "STG.E.128", "MUFU.EX2"),
        "registers": ("LDG.E.128", "STG.E.128", "MUFU.EX2"),
    },
    "cute-attention-f16": {
        "warp-per-query": ("SHFL.BFLY", "MUFU.EX2"), "tensor-cores": ("HMMA.16816.F32", "LDSM.16.MT88"),
        "pipeline": ("HMMA.16816.F32", "LDSM.16.MT88", "LDGSTS"),
    },
    "tk-matmul-bf16": {
        "warp-tiles": ("HMMA.16816.F32.BF16",), "tma-wgmma": ("HGMMA", "UTMALDG"),
        "specialised": ("HGMMA", "UTMALDG", "UTMASTG", "USETMAXREG"),
    },
    "tk-softmax-bf16": {
        "streamed-tiles": ("MUFU.EX2", "SHFL"), "register-tile": ("MUFU.EX2",),
        "tma": ("UTMALDG", "UTMASTG", "MUFU.EX2"),
    },
    "tk-layer-norm-bf16": {
        "register-vectors": ("MUFU.RSQ",), "persistent": ("MUFU.RSQ",), "tma": ("UTMALDG", "UTMASTG"),
    },
    "tk-attention-bf16": {
        "warp-tiles": ("HMMA.16816.F32.BF16",), "tma-wgmma": ("HGMMA", "UTMALDG"),
        "specialised": ("HGMMA", "UTMALDG", "UTMASTG"),
    },
}  # fmt: skip
GPU_SOLUTIONS = sorted(CLAIMS)
"""Those that came before the exemplars; test_gpu_exemplars.py holds the others, which have a reference.py."""
RUNGS = [
    pytest.param(solution, rung["name"], rung["entry_file"], id=f"{solution}-{rung['name']}")
    for solution in GPU_SOLUTIONS
    for rung in ladder(solution)
]


def check(solution: str, name: str, source: str, folder: Path, *, host: bool) -> None:
    need("nvdisasm")
    told = compile_rung(solution, source, folder, host=host)
    spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill", told))
    assert spilled == 0, f"{source} spills:\n{told}"
    code = sass(folder)
    for instruction in CLAIMS[solution][name]:
        assert instruction in code, f"{source}: no {instruction} in its SASS"


def test_one_rung_a_day_compiles_and_shows_what_it_claims(tmp_path: Path) -> None:
    """Which one goes by the date, so that all have their turn; the slow test below takes all."""
    check(*RUNGS[datetime.date.today().toordinal() % len(RUNGS)].values, tmp_path, host=False)


@pytest.mark.slow
@pytest.mark.parametrize(("solution", "name", "source"), RUNGS)
def test_a_rung_compiles_and_shows_what_it_claims(solution: str, name: str, source: str, tmp_path: Path) -> None:
    check(solution, name, source, tmp_path, host=True)


@pytest.mark.parametrize("solution", GPU_SOLUTIONS)
def test_a_solution_says_that_it_is_not_measured(solution: str) -> None:
    loaded = load_solution(SOLUTIONS / solution, origin="shipped")
    assert loaded.entry is Entry.C and loaded.architecture == ("sm_90a" if solution.startswith("tk-") else "sm_80")
    assert len(loaded.rungs) >= 3
    for rung in loaded.rungs:
        assert rung.not_measured == "compiled only" and not rung.latency_us and rung.speedup is None
        assert rung.decision.measured is None
    assert loaded.review.state is ReviewState.PROMOTED
    assert "not measured" in loaded.review.reason.lower() and "never" in loaded.review.reason
    assert "Not measured, compiled only" in loaded.description and loaded.not_for


@pytest.mark.parametrize("solution", GPU_SOLUTIONS)
def test_every_rung_claims_something(solution: str) -> None:
    assert [r["name"] for r in ladder(solution)] == list(CLAIMS[solution])


@pytest.mark.parametrize(("solution", "name", "source"), RUNGS)
def test_a_source_starts_with_its_compile_line_and_checks_its_launch(solution: str, name: str, source: str) -> None:
    text = (SOLUTIONS / solution / source).read_text(encoding="utf-8")
    lines = text.splitlines()
    command = "\n".join(line for line in lines[:3] if line.startswith("//"))
    assert text.startswith("// nvcc ") and f" {source} " in command and "-I$KW" in command
    assert len(lines) <= 170 and max(map(len, lines[3:])) <= 127
    run = text[text.index("KW_EXPORT int kw_run") :]
    assert run.count("NEEDS(") >= 3 and ".dtype ==" in run, "dtype, shape and alignment are checked before a launch"
    assert "// launch: " in text and "return launched();" in text


def test_every_solution_is_held_by_a_test() -> None:
    for kind in ("cute-*", "tk-*"):
        for folder in SOLUTIONS.glob(kind):
            assert folder.name in CLAIMS or (folder / "reference.py").exists(), folder.name


def test_the_word_on_refusals_is_the_same_everywhere() -> None:
    texts = {(SOLUTIONS / s / "refuse.h").read_text(encoding="utf-8") for s in GPU_SOLUTIONS}
    assert len(texts) == 1


def test_thunderkittens_itself_is_not_in_the_repository() -> None:
    strangers = list((ROOT / "knowledge").rglob("*.cuh"))
    assert not strangers, "headers of ThunderKittens are brought by the user"
