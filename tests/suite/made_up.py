"""The process of a sample that makes its run's files up: `python made_up.py WORKSPACE SUITE CELL MODE TRACE`.

MODE is finish, refuse, crash, hang, or half: half dies after half of its judgements at its first start, and finishes
when it is started again. Every judgement is a line of TRACE, so that a test sees what was done twice.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from fakes.records import a_baseline, a_candidate, a_ratio, a_task, an_environment, an_evaluation

from kernelwright.records import Depth, RunSummary
from kernelwright.suite.cell import die_with_parent
from kernelwright.suite.cells import cell_named
from kernelwright.suite.folder import SuiteFolder
from kernelwright.workspace import RunFolder, Workspace

JUDGEMENTS = 4


def main(workspace: str, suite: str, key: str, mode: str, trace: str) -> int:
    die_with_parent()
    folder = SuiteFolder(Path(workspace) / "suites" / suite)
    cell = cell_named(folder.plan(), key)
    if mode == "hang":
        time.sleep(600)
    if mode == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "refuse":
        folder.error_file(key).write_text(json.dumps({"code": "task", "message": "its tolerance accepts zeros"}))
        return 2
    begun = folder.run_of(key)
    run = begun or begin(folder, key, cell.seed)
    judge(run, key, cell.seed, trace, stop_at=JUDGEMENTS // 2 if mode == "half" and begun is None else None)
    run.save(run.summary().model_copy(update={"state": "finished", "reason": "budget: rounds"}), run.summary_file)
    return 0


def begin(folder: SuiteFolder, key: str, seed: int) -> RunFolder:
    run = folder.workspace_of(key, Workspace(folder.root.parents[1])).new_run("made_up")
    task = a_task("made_up", family="stencil")
    run.save(task, run.task_file)
    run.save(an_environment(), run.environment_file)
    rows = [a_baseline("compile", {"default": 200.0}, best=True).to_json()]
    run.write_text(run.baselines_file, json.dumps({"baselines": rows}))
    summary = RunSummary(run_id=run.run_id, task_name=task.name, task_id=task.id, engine="search", seconds=12.0)
    run.save(summary, run.summary_file)
    return run


def judge(run: RunFolder, key: str, seed: int, trace: str, *, stop_at: int | None) -> None:
    for number in range(JUDGEMENTS):
        if number == stop_at:
            os.kill(os.getpid(), signal.SIGKILL)
        candidate = a_candidate(f"// {seed} {number}\n")
        if run.evaluations(candidate.id):
            continue
        run.add_candidate(candidate)
        speedup = 1.0 + 0.1 * number
        run.add_evaluation(an_evaluation(candidate, speedup=speedup, latency_us={"default": 200 / speedup},
                                         depth=Depth.CONFIRMED, floor_us={"default": 100.0}))  # fmt: skip
        with open(trace, "a") as lines:
            lines.write(f"{key} {candidate.id}\n")
        best = {"best_candidate": candidate.id, "best": a_ratio(speedup), "candidates": number + 1}
        run.save(run.summary().model_copy(update=best), run.summary_file)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
