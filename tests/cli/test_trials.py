"""search trials: every trial of a run with its cost, by the candidate that was tuned."""

import json

from fakes.records import a_candidate, a_summary, a_task
from typer.testing import CliRunner

from kernelwright.cli.app import app
from kernelwright.records import Status, Trial
from kernelwright.workspace import Workspace


def asked(*words):
    done = CliRunner().invoke(app, ["search", "trials", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_each_trial_is_shown_with_what_it_gave_and_cost(workspace_folder):
    folder = Workspace.open(workspace_folder).new_run("blur")
    folder.save(a_summary(a_task(), run_id=folder.run_id), folder.summary_file)
    base = a_candidate().id
    rows = [("default", 16, 1.5, Status.PASSED, 2.0), ("tpe", 64, 1.72, Status.PASSED, 3.5),
            ("neighbour", 32, None, Status.TIMEOUT, 9.25)]  # fmt: skip
    for number, (sampler, tile, score, status, seconds) in enumerate(rows):
        folder.add_trial(
            Trial(candidate_id=f"{number:016}", base_id=base, values={"TILE": tile}, status=status, score=score,
                  seconds=seconds, sampler=sampler)
        )  # fmt: skip
    text = asked()
    lines = [line.split() for line in text.splitlines() if "TILE=" in line]
    assert [line[0] for line in lines] == ["TILE=64", "TILE=16", "TILE=32"], "best first, failures last"
    assert lines[0][1:] == ["tpe", "1.72x", "3.5", "s"] and lines[2][1:3] == ["neighbour", "TIMEOUT"]
    assert base in text and "3 trials, 15 s" in text
    told = json.loads(asked(folder.run_id, "--json"))
    assert [t["seconds"] for t in told["trials"]] == [2.0, 3.5, 9.25]


def test_a_run_without_tuning_says_so(workspace_folder):
    folder = Workspace.open(workspace_folder).new_run("blur")
    folder.save(a_summary(a_task(), run_id=folder.run_id), folder.summary_file)
    assert "nothing was tuned" in asked("last")
