"""The command line: what it refuses, what it shows, and one tiny suite for real."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakes.processes import descendants, gone
from suite.rows import a_plan, a_row
from typer.testing import CliRunner

from kernelwright.cli.ablation import arms_of, switches
from kernelwright.cli.app import app
from kernelwright.cli.suite_text import progress_line
from kernelwright.config import load_config
from kernelwright.errors import ConfigError, KernelwrightError, UnknownName
from kernelwright.suite.folder import SuiteFolder
from kernelwright.suite.running import SuiteProgress


def ask(*words: str) -> object:
    """Runs a command in this process; a refusal is raised as its exception."""
    done = CliRunner().invoke(app, ["suite", *words])
    if isinstance(done.exception, KernelwrightError):
        raise done.exception
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def a_suite_run(workspace: Path, name: str, rows: list, **plan: object) -> SuiteFolder:
    folder = SuiteFolder(workspace / "suites" / name)
    a_plan("a", "b", suite_id=name, **plan).save(folder.plan_file)
    for row in rows:
        folder.add_row(row)
    return folder


def test_a_report_is_text_json_and_a_page(workspace_folder: Path) -> None:
    folder = a_suite_run(workspace_folder, "one", [a_row("a", 2.0, reduced=True), a_row("b", None)])
    text = ask("report", "last")
    assert "geometric mean 1.41x" in text and "reduced shapes" in text and str(folder.report_html)[-20:] in text
    assert "<title>Suite made</title>" in folder.report_html.read_text()
    told = json.loads(ask("report", "one", "--json"))
    assert told == json.loads(folder.report_json.read_text())
    assert told["arms"]["main"]["headline"]["correct"]["value"] == 0.5


def test_two_suites_are_compared(workspace_folder: Path) -> None:
    a_suite_run(workspace_folder, "one", [a_row("a", 2.0), a_row("b", 2.0)])
    a_suite_run(workspace_folder, "two", [a_row("a", 3.0), a_row("b", 3.1)])
    assert "two against one: 1.525x" in ask("compare", "one", "two")
    assert json.loads(ask("compare", "one", "two", "--json"))["whole"]["tasks"] == 2
    with pytest.raises(UnknownName):
        ask("compare", "one", "two", "--arm", "bare")


def test_arms_of_one_suite_are_compared(workspace_folder: Path) -> None:
    rows = [a_row(t, s, arm=a) for t in "ab" for a, s in (("full", 2.0), ("bare", 1.0))]
    a_suite_run(workspace_folder, "one", rows, arms=("full", "bare"), switches={"bare": "library.recall=False"})
    assert "bare against full: 0.500x" in ask("report", "one")
    assert "one:bare against one:full: 0.500x" in ask("compare", "one", "one", "--arm", "full", "--arm", "bare")


def test_listing_shows_shipped_suites_and_runs(workspace_folder: Path) -> None:
    a_suite_run(workspace_folder, "one", [a_row("a", 2.0)])
    told = json.loads(ask("list", "--json"))
    assert told["runs"] == [{"id": "one", "done": 1, "total": 2}]
    assert "quick" in ask("list")


def test_switches_are_options_of_the_configuration() -> None:
    arms = arms_of(["full=", 'bare=--no-library -o search.patience=3', "cpp=--language cpp --engine=search"])
    assert arms == {
        "full": {},
        "bare": {"library.recall": False, "search.patience": 3},
        "cpp": {"languages": ["cpp"], "engine": "search"},
    }
    assert switches(exclude_same_task=True) == {"library.exclude_same_task": True}
    everything = "a=--no-library --no-lessons --no-profile --exclude-same-task -l torch --engine llm --model relay:x"
    values = arms_of(["full=", everything])["a"]
    config = load_config(values=values)
    assert not (config.library.recall or config.lessons or config.profile) and config.library.exclude_same_task
    assert (config.engine, config.models.model, config.languages) == ("llm", "relay:x", ("torch",))


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        (["full"], "not of the form NAME=SWITCHES"),
        (["a=", 'b="'], "cannot be read"),
        (["a=", "b=-o hint=["], "cannot be read"),
        (["full="], "at least two arms"),
        (["a=", "a="], "two arms are called 'a'"),
        (["a=", "b=--no-libary"], "is no switch"),
        (["a=", "b=--engine"], "is no switch"),
    ],
)
def test_a_wrong_arm_says_what_is_known(arms: list[str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        arms_of(arms)


def test_nothing_is_begun_for_a_suite_that_cannot_run(workspace_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("name: s\ntasks: [row_sum, no_such_task]\n")
    for words in (["run", str(file)], ["run", "no_such_suite"], ["run"], ["run", "quick", "--family", "matmul"],
                  ["ablate", "quick", "--arm", "a=", "--arm", "b=-o librry.recall=false"]):  # fmt: skip
        with pytest.raises(KernelwrightError):
            ask(*words)
    assert not (workspace_folder / "suites").exists()


def test_an_ablation_selects_of_kernelbench_and_names_devices_as_a_run_does(
    workspace_folder: Path, tmp_path: Path
) -> None:
    for number in (19, 40):
        file = tmp_path / "kb" / "KernelBench" / "level1" / f"{number}_x.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("class Model(:\n")
    arms = ["--arm", "full=", "--arm", "bare=--no-library"]
    ask("ablate", str(tmp_path / "kb"), *arms, "--id", "1/19", "--device", "cpu", "--at-once", "2")
    told = json.loads(ask("report", "last", "--json"))
    assert {name: a["outcomes"] for name, a in told["arms"].items()} == {"full": {"refused": 1}, "bare": {"refused": 1}}
    with pytest.raises(KernelwrightError, match="no such device|unknown"):
        ask("ablate", "quick", *arms, "--device", "abacus")


def test_a_task_that_cannot_be_loaded_is_a_row(workspace_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("class Model(:\n")
    file = tmp_path / "s.yaml"
    file.write_text("name: s\ntasks: [broken.py]\npreflight: false\n")
    ask("run", str(file))
    told = json.loads(ask("report", "last", "--json"))
    assert told["arms"]["main"]["outcomes"] == {"refused": 1}
    (sample,) = told["arms"]["main"]["tasks"][0]["samples"]
    assert "broken.py" in sample["detail"] and not sample["run"]


def test_a_progress_line_says_what_came_of_it_and_how_long_it_takes() -> None:
    row = a_row("a", 2.0)
    line = progress_line(SuiteProgress(done=3, total=10, running=(), left_s=410.0, row=row))
    assert line == "[3/10] a.main.0: 2.00x [1.97, 2.03] (1 min 00 s, about 6 min 50 s left)"
    start = progress_line(SuiteProgress(done=0, total=10, running=(), left_s=410.0))
    assert start == "[0/10] 10 samples to run, at most 6 min 50 s left", "budgets are all that is known yet"
    failed = a_row("a", None, outcome="crashed", detail="its process died")
    assert "crashed: its process died" in progress_line(SuiteProgress(1, 2, (), None, failed))


@pytest.mark.slow
def test_a_tiny_suite_for_real_is_stopped_and_gone_on_with(tmp_path: Path) -> None:
    """One shipped task, two arms, through the command line; the suite's process is killed on the way."""
    file = tmp_path / "tiny.yaml"
    file.write_text(
        "name: tiny\ntasks: [row_sum]\n"
        "options: {budget: {seconds: 40, rounds: 1, measurements: 4}, search: {tune_measurements: 0}}\n"
    )
    environment = {**os.environ, "KERNELWRIGHT_WORKSPACE": str(tmp_path / "w")}
    base = [sys.executable, "-m", "kernelwright", "suite"]
    arms = ["--arm", "full=", "--arm", "bare=--no-library"]
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([*base, "ablate", str(file), *arms], env=environment, timeout=20, capture_output=True)
    done = subprocess.run(
        [*base, "run", "--resume", "last", "--json"], env=environment, capture_output=True, text=True, timeout=900
    )
    told = json.loads(done.stdout)
    assert told["done"] == told["total"] == 2 and set(told["arms"]) == {"full", "bare"}, done.stderr
    for arm in told["arms"].values():
        assert arm["outcomes"] == {"finished": 1}
        (sample,) = (arm["tasks"] + arm["degenerate"])[0]["samples"]
        assert sample["baselines_us"] and sample["seconds"] > 0


@pytest.mark.slow
def test_nothing_is_left_after_ctrl_c(tmp_path: Path) -> None:
    """Samples lead sessions of their own, and so do the judge's workers: all of them end with the suite."""
    file = tmp_path / "tiny.yaml"
    file.write_text(
        "name: tiny\ntasks: [row_sum, tanh_gelu]\nat_once: 2\npreflight: false\n"
        "options: {budget: {seconds: 600, rounds: 1}, judge: {baselines: [eager]}}\n"
    )
    words = [sys.executable, "-m", "kernelwright", "suite", "run", str(file), "--workspace", str(tmp_path / "w")]
    suite = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    family: set[int] = set()
    deadline = time.monotonic() + 600
    while len(family) < 4 and suite.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
        family = descendants(suite.pid)  # two samples, and workers of theirs
    assert len(family) >= 4
    suite.send_signal(signal.SIGINT)
    told = suite.communicate(timeout=120)[1]
    assert "kernelwright suite run --resume" in told and "Traceback" not in told
    assert suite.returncode not in (0, 1)
    assert all(gone(pid) for pid in family)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--samples", "3"], "samples would change"), (["--no-library"], "library.recall would change"),
        (["-o", "seed=2"], "option would change"), (["--id", "1/19"], "ids would change"),
        (["--retry", "crushed"], "crushed"),
    ],
)  # fmt: skip
def test_a_resumed_suite_keeps_its_plan(workspace_folder: Path, words: list[str], said: str) -> None:
    folder = a_suite_run(workspace_folder, "one", [a_row("a", 2.0), a_row("b", 2.0)])
    with pytest.raises(KernelwrightError, match=said):
        ask("run", "--resume", "last", *words)
    assert not folder.report_html.exists()
    assert "geometric mean 2.00x" in ask("run", "--resume", "last"), "nothing is left to run"


def test_a_suite_goes_on_only_where_its_devices_are(workspace_folder: Path) -> None:
    a_suite_run(workspace_folder, "one", [a_row("a", 2.0)], devices=("abacus",))
    with pytest.raises(UnknownName):
        ask("run", "--resume", "last")
    with pytest.raises(ConfigError, match="--retry is for --resume"):
        ask("run", "quick", "--retry", "crashed")
