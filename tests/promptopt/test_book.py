"""What a run's roles are told: the version in use, the lessons that fit, and a record of the draw."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.records import an_environment
from promptopt.making import lesson

from kernelwright.agents.llm.prompt_book import ROLES, seed_prompt
from kernelwright.promptopt.book import LearnedPrompts
from kernelwright.promptopt.draws import draws_file
from kernelwright.promptopt.lineage import text_hash
from kernelwright.promptopt.screening import MAX_PROMPT, text_complaints
from kernelwright.promptopt.shelves import LessonShelf
from kernelwright.promptopt.versions import PromptStore, roles, seed_text
from kernelwright.protocols import Knowledge
from kernelwright.records import LessonDraw, Task
from kernelwright.workspace import Workspace, read_records


def knowledge(family: str = "softmax") -> Knowledge:
    task = Task(name="any", family=family, reference="class Model: ...", licence="Apache-2.0", source="test")
    fields = dict.fromkeys(Knowledge.__dataclass_fields__)
    return Knowledge(**{**fields, "task": task, "languages": ["cpp"]})


@pytest.mark.parametrize("role", ROLES)
def test_the_shipped_texts_are_seeds_of_the_same_identity(role: str, tmp_path: Path) -> None:
    assert not text_complaints(seed_text(role), limit=MAX_PROMPT)
    assert text_hash(seed_text(role)) == text_hash(seed_prompt(role).text)
    started = PromptStore(tmp_path, role).started()
    assert started is not None and started.id == seed_prompt(role).version
    assert role in roles(tmp_path)


def test_a_role_is_told_what_fits_and_the_draw_is_recorded(tmp_path: Path) -> None:
    place = Workspace.open(tmp_path)
    shelf = LessonShelf(place.lessons, with_shipped=False)
    shelf.save_all([lesson("fits"), lesson("elsewhere", scope={"families": ("conv",)})])
    (place.lessons / "broken.yaml").write_text("x")
    run = place.new_run("any")
    book = LearnedPrompts(place, folder=run, hold_out=0.0)
    used = book.prompt("coder", knowledge())
    assert used.lessons == ("fits",) and "- [fits] When" in used.text and used.version == seed_prompt("coder").version
    assert book.prompt("coder", knowledge()) == used
    assert book.prompt("planner", knowledge("norm")).lessons == ()
    (draw,) = read_records(draws_file(run), LessonDraw)
    assert (draw.call, draw.role, draw.shown, draw.version) == (run.run_id, "coder", ("fits",), used.version)


def test_a_scope_of_architecture_and_toolchain_is_compared_with_the_runs_machine(tmp_path: Path) -> None:
    place = Workspace.open(tmp_path)
    scopes = {
        "wide": {"architectures": ("avx512",)}, "narrow": {"architectures": ("neon",)},
        "gcc": {"toolchains": ("g++ 12", "clang++ 19")}, "new-torch": {"toolchains": ("torch 9",)},
    }  # fmt: skip
    LessonShelf(place.lessons, with_shipped=False).save_all([lesson(id, scope=s) for id, s in scopes.items()])
    run = place.new_run("any")
    assert not {*scopes} & {*LearnedPrompts(place, folder=run, hold_out=0.0).prompt("coder", knowledge()).lessons}
    compiler = "g++ (Debian 12.2.0-14+deb12u1) 12.2.0"
    machine = an_environment().model_copy(
        update={"isa": "avx512", "gpu": "", "compiler": compiler, "versions": {"torch": "2.13.0+cpu"}}
    )
    run.save(machine, run.environment_file)
    shown = LearnedPrompts(place, folder=run, hold_out=0.0).prompt("coder", knowledge()).lessons
    assert {*scopes} & {*shown} == {"wide", "gcc"}


def test_the_version_in_use_is_what_is_told(tmp_path: Path) -> None:
    place = Workspace.open(tmp_path)
    store = PromptStore(place.prompts, "coder")
    first = store.started("Write kernels that are fast and right.")
    assert first is not None
    used = LearnedPrompts(place, folder=place.new_run("any"), budget_tokens=0).prompt("coder", knowledge())
    assert (used.text, used.version) == ("Write kernels that are fast and right.", first.id)
