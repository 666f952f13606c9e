"""Samples as processes: every end is a row, a killed suite goes on, nothing is done twice."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from suite.rows import a_plan

from kernelwright.errors import WorkspaceError
from kernelwright.suite.cell import SUITE_PID
from kernelwright.suite.cells import Cell, cells_of
from kernelwright.suite.folder import new_suite
from kernelwright.suite.running import SuiteProgress, SuiteRun
from kernelwright.workspace import Workspace

HERE = Path(__file__).resolve().parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(HERE.parent)}


class Made:
    """A suite whose samples are made up."""

    def __init__(self, root: Path, *tasks: str, **fields: object) -> None:
        self.workspace = Workspace(root / "workspace")
        self.folder = new_suite(self.workspace, "made")
        self.plan = a_plan(*tasks, suite_id=self.folder.suite_id, **fields)
        self.plan.save(self.folder.plan_file)
        self.trace = root / "trace"
        self.modes: dict[str, str] = {}
        self.told: list[SuiteProgress] = []

    def command(self, cell: Cell, device: str) -> list[str]:
        mode = self.modes.get(cell.task.key, "finish")
        words = [str(self.workspace.root), self.folder.suite_id, cell.key, mode, str(self.trace)]
        return ["env", f"PYTHONPATH={HERE.parent}", sys.executable, str(HERE / "made_up.py"), *words]

    def run(self) -> SuiteRun:
        return SuiteRun(self.folder, self.plan, command=self.command, observe=self.told.append)

    def judged(self) -> list[str]:
        return self.trace.read_text().splitlines() if self.trace.exists() else []


def test_every_end_is_a_row_and_not_the_end(tmp_path: Path) -> None:
    made = Made(tmp_path, "good", "unfit", "dies", "hangs", limit_s=4.0, at_once=2)
    made.modes = {"unfit": "refuse", "dies": "crash", "hangs": "hang"}
    rows = {r.task: r for r in made.run().run()}
    assert {t: r.outcome for t, r in rows.items()} == {
        "good": "finished", "unfit": "refused", "dies": "crashed", "hangs": "timeout"
    }  # fmt: skip
    assert rows["good"].gained and rows["good"].correct and rows["good"].latency_us
    assert rows["unfit"].detail == "its tolerance accepts zeros" and "signal 11" in rows["dies"].detail
    assert made.told[-1].done == made.told[-1].total == 4
    assert [p.left_s is not None for p in made.told]
    assert made.told[-1].left_s == 0


def test_a_killed_sample_is_gone_on_with(tmp_path: Path) -> None:
    made = Made(tmp_path, "a")
    made.modes = {"a": "half"}
    assert [r.outcome for r in made.run().run()] == ["crashed"]
    rows = made.run().run(again=("crashed",))
    assert [r.outcome for r in rows] == ["finished"]
    assert len(made.judged()) == len(set(made.judged())) == 4, "every judgement was made once"
    assert len(list(made.folder.cell("a.main.0").glob("runs/*"))) == 1


def test_what_has_a_row_is_not_run_again(tmp_path: Path) -> None:
    made = Made(tmp_path, "a", "b", samples=2)
    made.run().run()
    before = made.judged()
    assert len(made.run().run()) == 4
    assert made.judged() == before and len(before) == 16


def test_a_run_that_ended_without_a_row_is_only_read(tmp_path: Path) -> None:
    made = Made(tmp_path, "a")
    made.run().run()
    made.folder.rows_file.unlink()  # as if killed between the run's end and its row
    (row,) = made.run().run()
    assert row.outcome == "finished" and len(made.judged()) == 4


def test_stopping_kills_what_runs_and_writes_no_row_for_it(tmp_path: Path) -> None:
    made = Made(tmp_path, "a", "b", at_once=2)
    made.modes = {"a": "hang", "b": "hang"}
    run = made.run()
    threading.Timer(1.0, run.stop.set).start()
    assert run.run() == []
    assert not run._running


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent ended")
def test_a_sample_whose_suite_was_killed_while_it_started_ends_at_once(tmp_path: Path) -> None:
    made = Made(tmp_path, "orphan")
    gone = {**ENVIRONMENT, SUITE_PID: "999999999"}
    command = made.command(cells_of(made.plan)[0], "cpu")
    assert subprocess.run(command, env=gone).returncode == -signal.SIGKILL and made.judged() == []


def test_two_processes_cannot_run_one_suite(tmp_path: Path) -> None:
    made = Made(tmp_path, "a")
    with made.folder.owned(), pytest.raises(WorkspaceError, match="being run by another process"):
        made.run().run()


def test_a_torn_row_is_done_again(tmp_path: Path) -> None:
    made = Made(tmp_path, "a")
    made.run().run()
    whole = made.folder.rows_file.read_text()
    made.folder.rows_file.write_text(whole[: len(whole) // 2])
    assert [r.outcome for r in made.run().run()] == ["finished"]
    assert len(made.judged()) == 4


DRIVER = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from suite.test_running import Made
made = Made.__new__(Made)
from kernelwright.suite.folder import SuiteFolder
from kernelwright.workspace import Workspace
made.workspace = Workspace(Path({root!r}) / "workspace"); made.folder = SuiteFolder(Path({folder!r}))
made.plan = made.folder.plan(); made.trace = Path({trace!r}); made.modes = {{}}; made.told = []
made.run().run()
"""


@pytest.mark.slow
def test_ten_kills_of_a_suite_of_twenty_change_nothing(tmp_path: Path) -> None:
    """kill -9 of the suite's own process at ten moments: the same judgements as without, each made once."""
    tasks = [f"t{i}" for i in range(20)]
    made = Made(tmp_path, *tasks)
    code = DRIVER.format(
        tests=str(HERE.parent), root=str(tmp_path), folder=str(made.folder.root), trace=str(made.trace)
    )
    for kill in range(10):
        driver = subprocess.Popen([sys.executable, "-c", code], env=ENVIRONMENT)
        time.sleep(1.5 + 0.37 * kill)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True)
    other = Made(tmp_path / "other", *tasks)
    other.run().run()
    assert sorted(made.judged()) == sorted(other.judged())
    assert len(made.judged()) == len(set(made.judged()))
    assert {r.cell: r.outcome for r in made.folder.rows()} == {c.key: "finished" for c in cells_of(made.plan)}
