"""Imports run one way, and nothing heavy happens at import."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLATFORM = ROOT / "platform"
PACKAGE = "kernelwright"

# From the ground up. A room may import from its own layer and from those below it.
LAYERS: list[set[str]] = [
    {"records", "errors", "protocols"},
    {"config", "workspace", "tasks"},
    {"toolexec", "memory", "search"},
    {"agents"},
    {"promptopt"},
    {"suite", "report"},
    {"wiring"},
    {"cli", "web"},
    {"__main__"},
]
# These meet through protocols, in the graph's nodes.
STRANGERS = {"toolexec", "memory", "search"}
# Within the lowest layer: who may import whom.
GROUND = {"records": set(), "errors": set(), "protocols": {"records", "errors"}}
RECORDS_MAY_IMPORT = {"pydantic", "pydantic_core", "typing_extensions"}

HEAVY = {
    "chromadb", "cupy", "dspy", "halide", "jinja2", "langchain_core", "langgraph", "litellm", "matplotlib",
    "openai", "optuna", "ray", "scipy", "sentence_transformers", "sqlalchemy", "torch",
    "transformers", "triton",
}  # fmt: skip
# Files that run only inside a worker process may import them at the top: path under platform/ -> why.
WORKER_FILES: dict[str, str] = {
    "agents/graph.py": "no worker, but imported by agents/running.py only when a run starts: it is LangGraph's file",
    "agents/llm/modules.py": "no worker, but imported by agents/llm/asking.py only when a model is asked: DSPy's file",
    "toolexec/languages/halide_emit.py": "builds Funcs in the candidate's worker, and is embedded in exported files",
    "toolexec/languages/halide_math.py": "polynomials for halide_emit.py, in the candidate's worker",
    "toolexec/languages/halide_schedule.py": "applies Directives in the candidate's worker",
    "toolexec/workers/describe.py": "describes the reference in the reference worker",
    "toolexec/workers/sums.py": "watches one run of the reference in the reference worker",
    "toolexec/workers/influence.py": "asks what moves a module's result, in the worker that runs it",
    "toolexec/workers/device_module.py": "runs a task's Model on a GPU in a baseline's worker",
    "toolexec/workers/torch_runtime.py": "clocks a baseline on a GPU, in its worker",
    "toolexec/workers/module_kernel.py": "runs a ModelNew in the candidate's worker",
    "toolexec/workers/policy_log.py": "logs what a module calls, in the candidate's worker",
    "toolexec/workers/reference_host.py": "runs the reference in the reference worker",
}


@dataclass(frozen=True)
class Import:
    """One imported module, as a full dotted name, and where it stands."""

    file: Path
    line: int
    module: str
    at_top: bool

    @property
    def where(self) -> str:
        return f"{self.file.relative_to(ROOT).as_posix()}:{self.line}: {self.module}"


def room_of_file(file: Path) -> str:
    first = file.relative_to(PLATFORM).parts[0]
    return first.removesuffix(".py")


def room_of_module(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else None


def is_type_checking(node: ast.If) -> bool:
    return ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def statements(node: ast.AST, at_top: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yields every import statement under node, and whether it runs when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, at_top
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from statements(child, False)
        elif isinstance(child, ast.If) and is_type_checking(child):
            for part in child.body:
                yield from statements(ast.Module(body=[part], type_ignores=[]), False)
            for part in child.orelse:
                yield from statements(ast.Module(body=[part], type_ignores=[]), at_top)
        else:
            yield from statements(child, at_top)


def absolute(node: ast.ImportFrom, file: Path) -> str:
    """Resolves `from ..x import y` to a full dotted name."""
    if not node.level:
        return node.module or ""
    package = [PACKAGE, *file.relative_to(PLATFORM).with_suffix("").parts][:-1]
    kept = package[: len(package) - node.level + 1]
    return ".".join([*kept, node.module] if node.module else kept)


def imports_in(source: str, file: Path) -> list[Import]:
    found = []
    for node, at_top in statements(ast.parse(source, str(file)), True):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            base = absolute(node, file)
            # `from kernelwright import records` names the room only in its list
            names = [f"{base}.{alias.name}" for alias in node.names] if base == PACKAGE else [base]
        found += [Import(file, node.lineno, name, at_top) for name in names]
    return found


def all_imports() -> list[Import]:
    return [
        found
        for file in sorted(PLATFORM.rglob("*.py"))
        if "__pycache__" not in file.parts
        for found in imports_in(file.read_text(encoding="utf-8"), file)
    ]


def layer(room: str) -> int:
    for height, rooms in enumerate(LAYERS):
        if room in rooms:
            return height
    raise AssertionError(f"platform/{room} stands in no layer: give it its place in LAYERS")


def complaint(found: Import) -> str | None:
    """Says what is wrong with an import, or None."""
    importer, imported = room_of_file(found.file), room_of_module(found.module)
    if importer == "__about__":
        return None
    if importer == "records" and imported is None:
        top = found.module.split(".")[0]
        if top not in sys.stdlib_module_names and top not in RECORDS_MAY_IMPORT:
            return f"{found.where} (records import the standard library and pydantic only)"
    if imported is None or imported == importer or imported.startswith("__"):
        return None
    if layer(imported) > layer(importer):
        return f"{found.where} ({importer} lies below {imported})"
    if importer in GROUND and imported not in GROUND[importer]:
        allowed = ", ".join(sorted(GROUND[importer])) or "no other room"
        return f"{found.where} ({importer} may import {allowed})"
    if {importer, imported} <= STRANGERS:
        return f"{found.where} ({importer} and {imported} meet through protocols only)"
    return None


def test_imports_run_one_way() -> None:
    wrong = [text for found in all_imports() if (text := complaint(found))]
    assert not wrong, "\n" + "\n".join(wrong)


def test_rooms_of_one_layer_do_not_import_each_other_in_a_circle() -> None:
    edges = {(room_of_file(i.file), room_of_module(i.module)) for i in all_imports()}
    both = sorted((a, b) for a, b in edges if b and a < b and (b, a) in edges)
    assert not both, f"each imports the other: {both}"


def test_heavy_modules_are_imported_where_they_are_used() -> None:
    wrong = [
        found.where
        for found in all_imports()
        if found.at_top
        and found.module.split(".")[0] in HEAVY
        and found.file.relative_to(PLATFORM).as_posix() not in WORKER_FILES
    ]
    assert not wrong, "import these inside the function that needs them:\n" + "\n".join(wrong)


def test_the_list_of_worker_files_is_kept() -> None:
    gone = [name for name in WORKER_FILES if not (PLATFORM / name).is_file()]
    assert not gone
    assert all(len(reason) > 20 for reason in WORKER_FILES.values())


@pytest.mark.parametrize("module", ["cli", "wiring", "config", "records", "protocols"])
def test_an_import_loads_nothing_heavy(module: str) -> None:
    code = (
        f"import json, sys; before = set(sys.modules); import {PACKAGE}.{module}; "
        "print(json.dumps(sorted({name.split('.')[0] for name in set(sys.modules) - before})))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    loaded = HEAVY & set(json.loads(done.stdout.splitlines()[-1]))
    assert not loaded, f"import {PACKAGE}.{module} loads {', '.join(sorted(loaded))}"


@pytest.mark.parametrize(
    ("path", "line", "allowed"),
    [
        ("records/task.py", "from pydantic import BaseModel", True),
        ("records/task.py", "import numpy", False),
        ("records/task.py", "from ..errors import KernelwrightError", False),
        ("records/task.py", "from .record import Record", True),
        ("protocols.py", "from kernelwright.records import Task", True),
        ("protocols.py", "from kernelwright.config import RunConfig", False),
        ("tasks/native.py", "from kernelwright import toolexec", False),
        ("toolexec/judge.py", "from kernelwright import config, __version__", True),
        ("toolexec/judge.py", "def f():\n    from kernelwright.memory import recall", False),
        ("search/tuner.py", "from ..toolexec.judge import Judge", False),
        ("agents/graph.py", "from kernelwright.search.tuner import tune", True),
        ("search/tuner.py", "from kernelwright.agents import graph", False),
        ("cli/main.py", "from kernelwright.wiring import wire", True),
        ("wiring.py", "from kernelwright.cli import app", False),
    ],
)
def test_the_guard_itself(path: str, line: str, allowed: bool) -> None:
    wrong = [text for found in imports_in(line, PLATFORM / path) if (text := complaint(found))]
    assert (not wrong) is allowed, wrong


def test_what_counts_as_the_top_of_a_module() -> None:
    source = (
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n"
        "if TYPE_CHECKING:\n    import halide\n"
        "def f():\n    import optuna\n"
        "class C:\n    import jinja2\n"
    )
    top = {found.module for found in imports_in(source, PLATFORM / "search/tuner.py") if found.at_top}
    assert top == {"torch", "jinja2"}
