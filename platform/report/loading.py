"""Reads a run's folder into RunRecords. The one place of this room that opens a run's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import yaml

from kernelwright.errors import WorkspaceError
from kernelwright.records import (
    Baseline,
    Ceilings,
    Environment,
    Evaluation,
    Step,
    Task,
    TaskFacts,
    Trajectory,
)
from kernelwright.records.record import Record
from kernelwright.report.run_records import Roofs, RunRecords
from kernelwright.workspace import RunFolder

R = TypeVar("R", bound=Record)


def load_run_records(folder: RunFolder) -> RunRecords:
    """Everything a page, a table or a replay of the run is made from.

    Raises:
        WorkspaceError: the run's files cannot be read or are of a newer format.
    """
    task = _load(Task, folder.task_file)
    if task is None:
        raise WorkspaceError(f"{folder.task_file} is missing; the run cannot be shown")
    decisions = folder.decisions()
    steps = tuple(
        Step(decision=d, evaluations=tuple(folder.evaluations(d.child)) if d.child else ()) for d in decisions
    )
    baselines, roofs = load_baselines(folder)
    candidates = {name: folder.candidate(name) for name in folder.candidate_ids()}
    profiles = {name: found for name in candidates if (found := folder.profile(name)) is not None}
    return RunRecords(
        summary=folder.summary(),
        task=task,
        trajectory=Trajectory(run_id=folder.run_id, task_id=task.id, steps=steps),
        baselines=baselines,
        candidates=candidates,
        profiles=profiles,
        trials=folder.trials(),
        events=folder.events(),
        facts=_load(TaskFacts, folder.facts_file),
        environment=_load(Environment, folder.environment_file),
        roofs=roofs,
        config=_yaml(folder.config_file),
        paths=_paths(folder),
    )


def load_baselines(folder: RunFolder) -> tuple[list[Baseline], Roofs]:
    """The baselines and ceilings that prepare wrote; empty before it did."""
    if not folder.baselines_file.exists():
        return [], Roofs()
    try:
        data = json.loads(folder.baselines_file.read_text(encoding="utf-8"))
        ceilings = Ceilings.from_json(data["ceilings"])
        roofs = Roofs.measured(gbps=ceilings.gbps, gflops=ceilings.gflops)
        return [Baseline.from_json(row) for row in data["baselines"]], roofs
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"cannot read {folder.baselines_file}: {error}") from None


def run_json(records: RunRecords) -> dict[str, Any]:
    """One run as one JSON document."""
    return {
        "format": "kernelwright/run-records/1",
        "summary": records.summary.to_json(),
        "task": {"name": records.task.name, "id": records.task.id, "family": records.task.family},
        "baselines": [b.to_json() for b in records.baselines],
        "environment": records.environment.to_json() if records.environment else None,
        "steps": [
            {"decision": s.decision.to_json(), "evaluations": [_without_samples(e) for e in s.evaluations]}
            for s in records.steps
        ],
        "profiles": {name: p.to_json() for name, p in records.profiles.items()},
        "trials": len(records.trials),
        "config": dict(records.config),
        "paths": dict(records.paths),
    }


def _without_samples(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation without its raw samples, which stay in evaluations.jsonl."""
    return {k: v for k, v in evaluation.to_json().items() if k != "raw"}


def _load(kind: type[R], path: Path) -> R | None:
    try:
        return kind.load(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"cannot read {path}: {error}") from None


def _yaml(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return {}
    return data if isinstance(data, dict) else {}


def _paths(folder: RunFolder) -> dict[str, str]:
    found = {
        "run folder": folder.root,
        "best kernel": folder.best / "model_new.py",
        "sources": folder.best / "sources",
        "report": folder.report_html,
    }
    return {name: _shown(path) for name, path in found.items() if path.exists()}


def _shown(path: Path) -> str:
    """As a user would type it from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
