"""Tasks told by torch code alone: recall puts a fitting exemplar of the asked language among the first three.

The tasks lie frozen in blind_tasks.yaml; ``pytest --full -s tests/knowledge/test_blind_tasks.py`` shows their ranks.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from knowledge.gpu_toolchain import SOLUTIONS

from kernelwright import wiring
from kernelwright.agents.adaptation import bind
from kernelwright.config import load_config
from kernelwright.memory.solution_files import load_solution
from kernelwright.tasks.loading import find_task
from kernelwright.workspace import Workspace

FROZEN = yaml.safe_load(Path(__file__).with_name("blind_tasks.yaml").read_text(encoding="utf-8"))["tasks"]
FIRST, RIGHT = 3, 18


def task_file(told: dict[str, Any], folder: Path) -> Path:
    """A task of the frozen file as a KernelBench file; its name says nothing."""
    file = folder / f"{told['id']}.py"
    file.write_text(told["code"], encoding="utf-8")
    return file


def test_the_tasks_are_twenty_and_load(tmp_path: Path) -> None:
    """Each is a task; of what it expects at least one exists, all of the language that it asks for."""
    assert len({t["id"] for t in FROZEN}) == 20
    asked = Counter(t["language"] for t in FROZEN)
    assert set(asked) == {"cute", "cute_dsl", "cuda", "thunderkittens", "triton"} and min(asked.values()) >= 3
    for told in FROZEN:
        assert find_task(str(task_file(told, tmp_path))).workloads
        heads = [SOLUTIONS / expected / "solution.yaml" for expected in told["expected"]]
        languages = [yaml.safe_load(h.read_text(encoding="utf-8"))["language"] for h in heads if h.exists()]
        assert languages and set(languages) == {told["language"]}, told["id"]


@pytest.mark.slow
def test_recall_puts_a_fitting_exemplar_among_the_first_three(tmp_path: Path) -> None:
    """For at least 18 of 20; as ``library recall FILE --language L`` does it."""
    place, config = Workspace(tmp_path / "w"), load_config()
    ranks = {}
    for told in FROZEN:
        task = wiring.find_task(place, str(task_file(told, tmp_path)))
        answers = wiring.ask_library(place, task, config, languages=[told["language"]])
        found = [r.solution.id for r in answers.solutions]
        ranks[told["id"]] = next((n for n, id in enumerate(found, 1) if id in told["expected"]), 0)
        print(f"{told['id']} {told['language']:14} rank {ranks[told['id']]}  {told['expected']} <- {found[:FIRST]}")
    hits = sum(0 < rank <= FIRST for rank in ranks.values())
    print(f"{hits} of {len(ranks)} among the first {FIRST}; {sum(r == 1 for r in ranks.values())} first")
    assert hits >= RIGHT, ranks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "exemplar", "change", "fits"),
    [
        ("b06", "tk-attention-causal-bf16", ("", ""), True),
        ("b06", "tk-attention-causal-bf16", (".triu(1)", ".triu(2)"), False),
        ("b06", "tk-attention-causal-bf16", ("math.sqrt(q.shape[-1])", "4.0"), False),
        ("b06", "tk-attention-bf16", ('.masked_fill(hidden, float("-inf"))', ""), True),
        ("b06", "cute-attention-causal", ("bfloat16", "half"), True),
        ("b06", "cuda-flash-attention", ("bfloat16", "half"), True),
        ("b06", "triton-attention-causal", ("bfloat16", "half"), True),
        ("b01", "cute-softmax", ("", ""), True),
        ("b01", "cute-softmax", (".sum(dim=-1", ".sum(dim=0"), False),
    ],
)
def test_what_is_written_out_is_bound_where_it_is_the_kernels_work(
    id: str, exemplar: str, change: tuple[str, str], fits: bool, tmp_path: Path
) -> None:
    """Attention by products, a triangular mask and a softmax; softmax by its definition; not with another mask or axis."""
    told = next(t for t in FROZEN if t["id"] == id)
    assert change[0] in told["code"]
    changed = {**told, "code": told["code"].replace(*change) if change[0] else told["code"]}
    place = Workspace(tmp_path / "w")
    facts = wiring.task_facts(place, find_task(str(task_file(changed, tmp_path))), load_config())
    binding = bind(load_solution(SOLUTIONS / exemplar, origin="shipped"), facts)
    assert binding.fits is fits, binding.why_not
