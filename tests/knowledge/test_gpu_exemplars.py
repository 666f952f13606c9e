"""The GPU exemplars with a reference.py: compiled where they say, their SASS as claimed, right under emulation.

A `shows:` line of a rung names instructions that its SASS must have everywhere, `shows sm_90a:` those of one machine.
By default a third is compiled, by the date: of CUDA's and Triton's rungs, and of CuTe's, CuTe DSL's and ThunderKittens'
exemplars the last rung of each; one exemplar runs under emulation. ``--full`` takes all.
facts.yaml must be what gpu_facts.py wrote for these sources.
"""

import datetime
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml
from knowledge.gpu_cases import CASES
from knowledge.gpu_emulation import run_rungs
from knowledge.gpu_facts import FACTS_FILE, architectures_of, compiled, compiler_of, facts_of
from knowledge.gpu_toolchain import SOLUTIONS, ladder, need, thunderkittens

from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Entry, ReviewState, Solution
from kernelwright.toolexec.languages import language

EXEMPLARS = sorted(p.parent.name for p in SOLUTIONS.glob("*/reference.py") if p.with_name("decisions.yaml").exists())
EMULATED = [s for s in EXEMPLARS if s in CASES]
RUNGS = [(s, r["name"], r["entry_file"]) for s in EXEMPLARS for r in ladder(s)]
QUICK = [r for r in RUNGS if r[0].startswith(("cuda-", "triton-"))]
LAST = [(s, r["name"], r["entry_file"]) for s in EXEMPLARS for r in ladder(s)[-1:]]
"""The best rung of each exemplar."""
LONG = [[r for r in LAST if r[0].startswith(language)] for language in ("cute-", "cutedsl-", "tk-")]
MODULES = ("triton-", "cutedsl-")
"""Exemplars that are Python files."""
TODAY = datetime.date.today().toordinal()
_SHOWS = re.compile(r"^(?://|#) shows(?: (sm_\w+))?: (.+)$", re.M)


def source_of(solution: str, entry_file: str) -> str:
    return (SOLUTIONS / solution / entry_file).read_text(encoding="utf-8")


@cache
def loaded(solution: str) -> Solution:
    return load_solution(SOLUTIONS / solution, origin="shipped")


def claims(text: str, architecture: str) -> list[str]:
    return [word for arch, words in _SHOWS.findall(text) if arch in ("", architecture) for word in words.split()]


def need_cute_dsl() -> None:
    here = language("cute_dsl").availability()
    if not here.ok:
        pytest.skip(here.detail)


def compile_and_look(solution: str, name: str, entry_file: str, folder: Path, *, every: bool) -> None:
    """Built by the language as the judge does; instructions as claimed, no spills, facts as recorded."""
    need("nvdisasm")
    if solution.startswith("triton-"):
        pytest.importorskip("triton", reason="Triton is not installed: it compiles its kernels")
    elif solution.startswith("cutedsl-"):
        need_cute_dsl()
    elif solution.startswith("tk-"):
        thunderkittens()
    else:
        need("nvcc")
    text = source_of(solution, entry_file)
    rung = next(r for r in loaded(solution).rungs if r.name == name)
    recorded = yaml.safe_load((SOLUTIONS / solution / FACTS_FILE).read_text(encoding="utf-8"))
    wanted = architectures_of(solution, text)
    facts = facts_of(solution)
    for architecture in wanted if every else wanted[TODAY % len(wanted) :][:1]:
        artifact, static = compiled(rung.candidate, architecture, facts, folder)
        code = sass_of(artifact, architecture)
        for instruction in claims(text, architecture):
            assert instruction in code, f"{entry_file} for {architecture}: no {instruction} in its SASS"
        kernels = {k.kernel: k for k in static.kernels}
        told = recorded["rungs"][name][architecture]
        assert set(kernels) == set(told), "kernels differ from facts.yaml: run tests/knowledge/gpu_facts.py"
        for kernel, now in kernels.items():
            assert not now.spill_store_bytes and not now.spill_load_bytes, f"{kernel} spills on {architecture}"
            if recorded["compiler"] == compiler_of(solution):
                assert (now.registers, now.instructions) == (told[kernel]["registers"], told[kernel]["instructions"]), (
                    f"{entry_file} changed since facts.yaml: run tests/knowledge/gpu_facts.py {solution}"
                )


def sass_of(artifact: Path, architecture: str) -> str:
    place = artifact if artifact.is_dir() else artifact.parent / architecture
    cubins = sorted(place.glob("*.cubin"))
    command = [str(need("nvdisasm").path), "-c"]
    return "".join(
        subprocess.run([*command, str(c)], capture_output=True, text=True, timeout=120, check=True).stdout
        for c in cubins
    )


@pytest.mark.parametrize(("solution", "name", "entry_file"), QUICK[TODAY % 3 :: 3])
def test_a_third_compiles_and_shows_what_it_claims(solution: str, name: str, entry_file: str, tmp_path: Path) -> None:
    """Which third, and for which architecture, goes by the date."""
    compile_and_look(solution, name, entry_file, tmp_path, every=False)


@pytest.mark.parametrize(("solution", "name", "entry_file"), [r for some in LONG for r in some[TODAY % 3 :: 3]])
def test_a_third_of_the_long_builds_compiles_too(solution: str, name: str, entry_file: str, tmp_path: Path) -> None:
    """CuTe and ThunderKittens take up to half a minute a rung, so it is the best one of an exemplar."""
    compile_and_look(solution, name, entry_file, tmp_path, every=False)


@pytest.mark.slow
@pytest.mark.parametrize(("solution", "name", "entry_file"), RUNGS)
def test_every_rung_compiles_for_every_architecture(solution: str, name: str, entry_file: str, tmp_path: Path) -> None:
    compile_and_look(solution, name, entry_file, tmp_path, every=True)


def emulate(solution: str, builds: Path, *, names: tuple[str, ...] = ()) -> None:
    if solution.startswith("triton-"):
        pytest.importorskip("triton", reason="Triton is not installed: its interpreter runs them")
    elif solution.startswith("cutedsl-"):
        need_cute_dsl()
    elif shutil.which("g++") is None:
        pytest.skip("no g++: the emulator compiles CUDA with it")
    outcomes = run_rungs(solution, CASES[solution], builds, names=names)
    first = ladder(solution)[0]["name"]
    for one in outcomes:
        assert not one.failure, f"{one.rung} at {CASES[solution][one.case]}: {one.failure}"
        if one.error is None:
            assert one.refused and one.rung != first, f"{one.rung} refuses {CASES[solution][one.case]}: {one.refused}"
        else:
            assert one.error <= 1, f"{one.rung} at {CASES[solution][one.case]}: {one.error} of what is allowed"
    for rung in {one.rung for one in outcomes}:
        assert sum(o.error is not None for o in outcomes if o.rung == rung) >= 2, f"{rung} ran at fewer than two sizes"


def test_one_exemplar_runs_right_under_emulation(tmp_path: Path) -> None:
    """Its last rung; which one goes by the date."""
    solution = EMULATED[TODAY % len(EMULATED)]
    emulate(solution, tmp_path, names=(ladder(solution)[-1]["name"],))


@pytest.mark.slow
@pytest.mark.parametrize("solution", EMULATED)
def test_an_exemplar_runs_right_under_emulation(solution: str, tmp_path: Path) -> None:
    emulate(solution, tmp_path)


@pytest.mark.slow
def test_the_emulation_sees_a_forgotten_barrier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A race in a copy of an exemplar is told at its line."""
    copied = tmp_path / "solutions" / "cuda-transpose"
    shutil.copytree(SOLUTIONS / "cuda-transpose", copied)
    file = copied / "3_padded.cu"
    file.write_text(file.read_text(encoding="utf-8").replace("__syncthreads();", ""), encoding="utf-8")
    monkeypatch.setattr("knowledge.gpu_emulation.SOLUTIONS", tmp_path / "solutions")
    (outcome,) = run_rungs("cuda-transpose", [{"rows": 40, "columns": 40}], tmp_path, names=["padded"])
    assert "race" in outcome.failure or "uninitialised" in outcome.failure
    assert "3_padded.cu:" in outcome.failure


@pytest.mark.parametrize("solution", EXEMPLARS)
def test_an_exemplar_is_whole(solution: str) -> None:
    one = loaded(solution)
    assert 3 <= len(one.rungs) <= 7
    for rung in one.rungs:
        assert rung.not_measured == "compiled only" and not rung.latency_us and rung.decision.measured is None
        assert rung.decision.hypothesis and rung.decision.evidence
    assert one.entry is (Entry.MODULE if solution.startswith(MODULES) else Entry.C)
    assert one.review.state is ReviewState.PROMOTED and "Not measured" in one.review.reason
    assert "Not measured, compiled only" in one.description and "A profile shows before:" in one.description
    assert "after:" in one.description and one.not_for and one.torch_ops and "no code taken" in one.provenance.source
    recorded = yaml.safe_load((SOLUTIONS / solution / FACTS_FILE).read_text(encoding="utf-8"))
    assert list(recorded["rungs"]) == [r.name for r in one.rungs]
    assert all(w["compulsory_bytes"] > 0 for w in recorded["reference"].values())
    assert solution in CASES or solution.startswith("tk-") or "compiled only because" in one.review.reason


@pytest.mark.parametrize(("solution", "name", "entry_file"), RUNGS)
def test_a_source_is_read_from_the_top(solution: str, name: str, entry_file: str) -> None:
    text = source_of(solution, entry_file)
    lines = text.splitlines()
    assert len(lines) <= 170 and max(map(len, lines[3:])) <= 127
    if solution.startswith(MODULES):
        assert lines[0].startswith("# run: ") and "# compile: " in text and "refused: " in text
        assert "class ModelNew(" in text and ".dtype" in text and "is_contiguous()" in text
        assert solution.startswith("triton-") or "# launch: " in text, "grid, block and shared memory as data"
    else:
        assert lines[0].startswith("// nvcc ") and entry_file in "".join(lines[:4]) and "// run: " in text
        assert "// launch: " in text
        if "kw_run" in text:
            run = text[text.index("KW_EXPORT int kw_run") :]
            assert run.count("NEEDS(") >= 3 and ".dtype ==" in run and "return launched();" in text
        else:
            assert " args(" in text and "<<<" not in text, "launched as data"
            assert "\n// dtypes: in0 = " in text and "out0 = " in text, "other dtypes are refused at launch"
    assert any(arch == "" or words for arch, words in _SHOWS.findall(text)), "no `shows:` line"


@pytest.mark.parametrize(
    ("language_", "least"), [("cute", 14), ("cutedsl", 6), ("tk", 10), ("cuda", 12), ("triton", 8)]
)
def test_there_are_enough_of_each_language(language_: str, least: int) -> None:
    there = [s for s in EXEMPLARS if s.startswith(f"{language_}-")]
    print(f"{language_}: {len(there)} exemplars, {sum(s in CASES for s in there)} of them run under emulation")
    assert len(there) >= least


def test_at_least_thirty_are_run_under_emulation_with_checkers() -> None:
    """That they run right is the slow test above, once for each."""
    assert len(EMULATED) >= 30


def test_the_readmes_table_of_topics_names_exemplars_that_exist() -> None:
    text = (SOLUTIONS / "README.md").read_text(encoding="utf-8").partition("## What shows what on a GPU")[2]
    named = set(re.findall(r"`((?:cuda|cute|cutedsl|tk|triton)-[a-z0-9-]+)`", text))
    assert named >= set(EXEMPLARS), set(EXEMPLARS) - named
    assert all((SOLUTIONS / name).is_dir() for name in named)


def test_the_word_on_refusals_is_the_same_everywhere() -> None:
    texts = {p.read_text(encoding="utf-8") for p in SOLUTIONS.glob("*/refuse.h")}
    assert len(texts) == 1
