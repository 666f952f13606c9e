"""A run folder becomes a report, and its JSON."""

import json
from pathlib import Path

from fakes.runs import a_blur_run

from kernelwright.records import Ceilings
from kernelwright.report.loading import load_run_records, run_json
from kernelwright.report.run_records import Roofs, RunRecords
from kernelwright.report.run_report import write_report
from kernelwright.workspace import RunFolder

CEILINGS = Ceilings(gbps={32_768: 310.0, 1_048_576: 140.0, 268_435_456: 31.8}, gflops=118.0)


def store(records: RunRecords, root: Path) -> RunFolder:
    """The files that a run leaves."""
    folder = RunFolder(root)
    folder.save(records.summary, folder.summary_file)
    folder.save(records.task, folder.task_file)
    assert records.facts is not None and records.environment is not None
    folder.save(records.facts, folder.facts_file)
    folder.save(records.environment, folder.environment_file)
    baselines = {"baselines": [b.to_json() for b in records.baselines], "ceilings": CEILINGS.to_json()}
    folder.write_text(folder.baselines_file, json.dumps(baselines))
    for candidate in records.candidates.values():
        folder.add_candidate(candidate)
    for step in records.steps:
        folder.add_decision(step.decision)
        for evaluation in step.evaluations:
            folder.add_evaluation(evaluation)
    for profile in records.profiles.values():
        folder.save_profile(profile)
    for trial in records.trials:
        folder.add_trial(trial)
    return folder


def test_a_folder_read_back_tells_the_same_run(tmp_path: Path) -> None:
    records = a_blur_run()
    found = load_run_records(store(records, tmp_path / "run"))
    assert found.trajectory.steps == records.steps
    assert list(found.baselines) == list(records.baselines)
    assert found.roofs == Roofs.measured(gbps=CEILINGS.gbps, gflops=CEILINGS.gflops)
    assert found.profiles == records.profiles
    assert found.best_evaluation == records.best_evaluation


def test_the_report_lies_in_the_runs_folder(tmp_path: Path) -> None:
    folder = store(a_blur_run(), tmp_path / "run")
    write_report(folder)
    assert "1.31x speed-up" in folder.report_html.read_text(encoding="utf-8")
    assert "1.31x speed-up" in folder.report_md.read_text(encoding="utf-8")


def test_json_is_one_document_without_raw_samples() -> None:
    data = json.loads(json.dumps(run_json(a_blur_run())))
    assert data["format"] == "kernelwright/run-records/1"
    assert len(data["steps"]) == 8
    assert "raw" not in data["steps"][0]["evaluations"][0]
