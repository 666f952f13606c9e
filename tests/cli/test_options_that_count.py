"""Options that were once read and then lost: each reaches what it is meant for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kernelwright.cli.app import app
from kernelwright.cli.optimize import _typed_to
from kernelwright.cli.suite import _changed
from kernelwright.errors import UnknownName
from kernelwright.suite.definition import TABLE, shipped_suites
from kernelwright.suite.selection import read_table, select
from kernelwright.workspace import Workspace, dump_yaml

TASK = "import torch\nN = 4\nclass Model(torch.nn.Module):\n    pass\ndef get_inputs():\n    return []\n"


def test_a_resumed_run_hears_typed_notes_unless_it_was_begun_with_questions(tmp_path: Path) -> None:
    run = Workspace.open(tmp_path).new_run("blur")
    for asked in (True, False):
        run.write_text(run.config_file, dump_yaml({"interactive": asked}))
        assert _typed_to(run) is asked
    run.write_text(run.config_file, "")  # cut off by a full disk
    assert _typed_to(run) is False


def test_an_id_that_is_not_there_is_said_among_others_that_are(tmp_path: Path) -> None:
    path = tmp_path / "KernelBench" / "level1" / "19_ReLU.py"
    path.parent.mkdir(parents=True)
    path.write_text(TASK)
    chosen = {"ids": ["1/19", "1/999"]}
    selection = _changed(str(tmp_path / "KernelBench"), {}, chosen).kernelbench
    assert selection is not None
    with pytest.raises(UnknownName, match="1/999"):
        select(selection, read_table(shipped_suites() / TABLE))


@pytest.mark.parametrize(
    ("words", "measurements", "seconds"),
    [
        (("-o", "search.tune_measurements=20"), 20, 77.0),
        (("-o", "search.tune_seconds=5"), 200, 5.0),
    ],
)
def test_retune_tunes_for_as_long_as_it_is_told(
    monkeypatch: pytest.MonkeyPatch, workspace_folder: Path, words: tuple[str, ...], measurements: int, seconds: float
) -> None:
    heard: list[Any] = []

    def told(place: Any, task: Any, candidate: Any, config: Any, **_: Any) -> None:
        heard.append(config)
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelwright.agents.retuning.retune", told)
    CliRunner().invoke(app, ["retune", "cpp-box-blur", "--budget", "77", *words])
    (config,) = heard
    assert (config.search.tune_measurements, config.search.tune_seconds) == (measurements, seconds)
