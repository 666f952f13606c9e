"""The contract of a Language. Derive, name the language and give candidates; pytest runs the inherited tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kernelwright.protocols import Language
from kernelwright.records import ArgumentFacts, Candidate, TaskFacts, WorkloadFacts

FACTS = TaskFacts(
    task_id="contract",
    workloads=(
        WorkloadFacts(
            workload="small",
            arguments=(
                ArgumentFacts(name="x", kind="input", dtype="float32", shape=(33, 97)),
                ArgumentFacts(name="weight", kind="parameter", dtype="float32", shape=(97,)),
                ArgumentFacts(name="bias", kind="parameter", dtype="float32", shape=(97,)),
                ArgumentFacts(name="scalar0", kind="scalar", value=1.5),
                ArgumentFacts(name="output0", kind="output", dtype="float32", shape=(33, 97)),
            ),
        ),
    ),
)
"""Facts of the task in fakes/kernels.py."""


class LanguageContract:
    """Inherit as ``class TestMine(LanguageContract)`` and set the attributes."""

    name = ""
    """Short name in the registry."""
    right: Candidate
    """A candidate for the small task that is right."""
    broken: Candidate
    """One that cannot be built."""
    facts: TaskFacts = FACTS

    @pytest.fixture
    def spoken(self) -> Language:
        from kernelwright.toolexec.languages import language

        return language(self.name)

    def build(self, spoken: Language, candidate: Candidate, folder: Path, timeout_s: float = 60.0):
        return spoken.build(candidate, self.facts, workload="small", folder=folder, timeout_s=timeout_s)

    def test_it_is_a_language_of_its_name(self, spoken):
        assert isinstance(spoken, Language)
        assert spoken.name == self.name
        assert spoken.entry in ("c", "module", "pipeline")
        assert spoken.entry == self.right.entry.value

    def test_it_says_whether_it_can_be_used_here(self, spoken):
        available = spoken.availability()
        assert available.ok, available.detail
        assert available.detail

    def test_a_right_candidate_builds(self, spoken, tmp_path):
        built = self.build(spoken, self.right, tmp_path)
        assert built.ok, built.log
        assert built.artifact is not None and built.artifact.exists()
        assert tmp_path in built.artifact.parents
        assert built.seconds >= 0

    def test_the_same_candidate_is_built_once(self, spoken, tmp_path):
        first = self.build(spoken, self.right, tmp_path)
        second = self.build(spoken, self.right, tmp_path)
        assert (first.cached, second.cached) == (False, True)
        assert first.artifact == second.artifact

    def test_a_broken_candidate_is_data_with_a_short_log(self, spoken, tmp_path):
        built = self.build(spoken, self.broken, tmp_path)
        assert not built.ok
        assert built.artifact is None
        assert 0 < len(built.log) <= 1600
        assert str(tmp_path) not in built.log

    def test_nothing_is_left_of_a_failed_build(self, spoken, tmp_path):
        self.build(spoken, self.broken, tmp_path)
        assert not list(tmp_path.iterdir())

    def test_the_export_is_python_with_model_new_and_without_kernelwright(self, spoken):
        from fakes.kernels import small_task

        text = spoken.export(self.right, small_task(), self.facts)
        tree = ast.parse(text)
        assert any(isinstance(node, ast.ClassDef) and node.name == "ModelNew" for node in ast.walk(tree))
        imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        imported |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert not any(name.split(".")[0] == "kernelwright" for name in imported)

    def test_the_guide_tells_an_author_something(self, spoken):
        assert len(spoken.guide()) > 200
