"""The library's commands: what they print, their JSON, their exit codes; over shipped and team's shelves."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.solutions import a_ladder_folder
from typer.testing import CliRunner

from kernelwright import wiring
from kernelwright.cli.app import app
from kernelwright.config import load_config
from kernelwright.errors import KernelwrightError, LibraryError, UnknownName
from kernelwright.memory.library import Library
from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Ratio
from kernelwright.report.figures import format_ratio
from kernelwright.workspace import Workspace

COMMANDS = """list show search recall add verify promote reject retire dedupe diff coverage stale misses reindex export
    import stats""".split()
KERNEL = '// Twice its input.\n// SPDX-License-Identifier: MIT\n#include "kernelwright.h"\nKW_EXPORT int kw_run();\n'


def said(*args: str, code: int = 0) -> str:
    """A command's stdout; it must end with this code."""
    done = CliRunner().invoke(app, ["library", *args])
    if isinstance(done.exception, KernelwrightError):
        raise done.exception
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout


def data(*args: str, code: int = 0) -> Any:
    return json.loads(said(*args, "--json", code=code))


def measured_gain(id: str) -> Ratio:
    """What a shipped ladder's last measured rung bought, whatever it was measured to be."""
    rungs = Library(user=None).get(id).rungs
    return [rung.decision.measured for rung in rungs if rung.decision.measured is not None][-1]


def test_every_command_is_there_and_has_json() -> None:
    listed = said("--help")
    for command in COMMANDS:
        assert f" {command} " in listed, command
        assert "--json" in said(command, "--help")


def test_list_and_show_the_shipped_entries() -> None:
    rows = {row["id"]: row for row in data("list")["solutions"]}
    assert rows["cpp-softmax"]["family"] == "softmax" and rows["cpp-softmax"]["origin"] == "shipped"
    assert [r["id"] for r in data("list", "--language", "torch")["solutions"]] == [
        "torch-conv-relu",
        "torch-linear-relu",
    ]
    assert data("list", "--state", "rejected")["solutions"] == []
    with pytest.raises(UnknownName, match="promoted"):
        said("list", "--state", "excellent")
    text = said("show", "cpp-box-blur", "--code")
    gain = format_ratio(measured_gain("cpp-box-blur"))
    for piece in ("Apache-2.0", "separable-window", "kw_run", gain.split()[0]):
        assert piece in text
    assert data("show", "cpp-box-blur")["credit"]["recalled"] == 0
    with pytest.raises(UnknownName, match="cpp-softmax"):
        said("show", "cpp-softmx")


def test_review_from_proposal_to_retirement(tmp_path: Path) -> None:
    kernel = tmp_path / "twice.cpp"
    kernel.write_text(KERNEL)
    facts = ["--family", "elementwise", "--source", "own work", "--author", "me"]
    added = data("add", str(kernel), *facts)
    assert added["accepted"] and added["id"] == "cpp-twice"
    assert "near-duplicate" in data("add", str(kernel), *facts, code=1)["reason"]
    assert data("promote", "cpp-twice", "--reason", "right and fast")[0]["state"] == "promoted"
    assert data("retire", "cpp-twice", "--reason", "old", "--reviewer", "me")[0]["reviewer"] == "me"
    with pytest.raises(LibraryError, match="reject"):
        said("reject", "cpp-twice", "--reason", "no")


def test_missing_facts_are_named(tmp_path: Path) -> None:
    kernel = tmp_path / "twice.cpp"
    kernel.write_text(KERNEL)
    with pytest.raises(LibraryError, match="family, source, author"):
        said("add", str(kernel))


def test_a_team_shelf_by_configuration_and_what_it_hides(tmp_path: Path) -> None:
    a_ladder_folder(tmp_path / "team", "cpp-softmax")
    option = ["-o", f"library.team={tmp_path / 'team'}"]
    row = next(r for r in data("list", *option)["solutions"] if r["id"] == "cpp-softmax")
    assert (row["origin"], row["family"]) == ("team", "stencil")
    told = data("diff", "cpp-softmax", *option)
    assert (told["left"], told["right"]) == ("cpp-softmax (shipped)", "cpp-softmax (team)")


def test_what_a_run_offers_is_compared_with_the_teams_shelf_too(tmp_path: Path) -> None:
    a_ladder_folder(tmp_path / "team", "box-blur")
    place = Workspace.open(tmp_path / "workspace")
    offer = wiring.surroundings(place, lambda event: None).offer
    solution = load_solution(a_ladder_folder(tmp_path / "found", "my-blur"))
    config = load_config(overrides=[f"library.team={tmp_path / 'team'}"])
    assert "near-duplicate" in offer(solution, config) and "box-blur" in offer(solution, config)
    assert not place.library.exists() or not any(place.library.iterdir())
    assert offer(solution, load_config()) == "proposed as my-blur"  # without the team's shelf it is new


def test_maps_and_counts() -> None:
    cells = data("coverage")
    assert {"softmax", "matmul", "stencil"} <= {c["family"] for c in cells}
    shown = said("coverage").splitlines()
    assert "halide" in "".join(shown[:3]), "no heading is cut"
    assert max(map(len, shown)) <= 80, "nor is anything on a small terminal"
    counts = data("stats")["counts"]
    assert counts["rungs"]["all"] > counts["state"]["promoted"] > 20
    assert said("misses").strip() == "no recall found nothing" and data("misses") == []
    assert data("dedupe")["pairs"] == []
    told = {s["id"]: s["reasons"] for s in data("stale", code=1)}
    assert any("not measured" in reason for reason in told["cute-softmax"])


def test_export_and_import_between_workspaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.zip"
    assert data("export", str(file), "cpp-softmax")["entries"] == ["cpp-softmax"]
    a_ladder_folder(tmp_path / "workspace" / "library" / "solutions", "mine", family="norm")
    own = tmp_path / "own.zip"
    assert data("export", str(own))["entries"] == ["mine"]
    monkeypatch.setenv("KERNELWRIGHT_WORKSPACE", str(tmp_path / "other"))
    assert data("import", str(own))["added"] == ["mine"]
    assert data("import", str(file)) == {"added": [], "unchanged": ["cpp-softmax"]}
    own.write_bytes(b"nothing")
    with pytest.raises(LibraryError, match="refused whole"):
        said("import", str(own))


def test_reindex_and_search(tmp_path: Path) -> None:
    root = tmp_path / "workspace" / "library" / "solutions"
    a_ladder_folder(root, "mine", edit={"Separable box blur": "Wobbly blur of cats"})
    first = data("reindex")
    assert first["added"] > 30 and not first["problems"]
    assert data("reindex")["embedded"] == 0
    found = data("search", "wobbly blur of cats", "-l", "cpp", "-n", "3")
    assert found["solutions"][0]["id"] == "mine" and found["solutions"][0]["ranks"]["words"] == 1
    assert found["techniques"]
    assert data("search", "softmax", "--family", "no-such-family", code=1)["solutions"] == []
