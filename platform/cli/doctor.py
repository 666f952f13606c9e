"""doctor: what this machine can do, and how to get what it lacks."""

from __future__ import annotations

import typer

from kernelwright.cli.output import JsonOption, WorkspaceOption, print_json, say


def doctor(json_: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """What works on this machine, what is missing and the exact command that brings it."""
    from kernelwright import wiring
    from kernelwright.cli.machine_table import doctor_text
    from kernelwright.report.machine_check import exit_status
    from kernelwright.workspace import Workspace

    findings = wiring.diagnose(Workspace.open(workspace))
    if json_:
        print_json({"format": "kernelwright/doctor/1", "findings": [f.to_json() for f in findings]})
    else:
        say(doctor_text(findings))
    raise typer.Exit(exit_status(findings))
