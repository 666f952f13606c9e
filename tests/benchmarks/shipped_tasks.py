"""The search engine over all shipped tasks: how many does it do right, and how many faster than the best baseline?

Run: ./kw test is not needed; with kernelwright installed:
    python tests/benchmarks/shipped_tasks.py OUT [--unseen] [--budget 90] [--task NAME ...]
OUT is a folder; a task whose result lies there is not run again. The table counts a candidate as right when it
passed deeper than `screen`, and a task as faster when the
confirmed interval over the best baseline lies above 1.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

TASKS = Path(__file__).resolve().parents[2] / "knowledge" / "tasks"
UNSEEN = Path(__file__).with_name("unseen_shapes.yaml")


def run_task(name: str, out: Path, *, budget_s: float, unseen: bool) -> dict[str, Any]:
    """One run of the command line; its JSON, kept in OUT."""
    kept = out / f"{name}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    command = [sys.executable, "-m", "kernelwright", "optimize", name, "--budget", str(budget_s), "--json"]
    command += ["--workspace", str(out / "workspace"), "--quiet"]
    if unseen:
        shapes = yaml.safe_load(UNSEEN.read_text())[name]
        command += ["--exclude-same-task", *(f"--set={key}={value}" for key, value in shapes.items())]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = {"error": done.stderr[-2000:]}
    found = {"wall_s": time.monotonic() - began, "exit": done.returncode, **found}
    kept.write_text(json.dumps(found))
    return found


def row(name: str, found: dict[str, Any]) -> tuple[bool, float | None, str]:
    """(a candidate is right, confirmed speed-up when shown, the line)."""
    if "summary" not in found:
        return False, None, f"{name:22} broke: {found.get('error', found.get('message', ''))[:90]}"
    summary = found["summary"]
    deep = [[e["status"] for e in s["evaluations"] if e["depth"] != "screen"] for s in found["steps"]]
    # UNSTABLE comes after all values were right: only the times are not worth reporting.
    passed = sum(bool(statuses) and set(statuses) <= {"PASSED", "UNSTABLE"} for statuses in deep)
    best = summary["best"]
    text = f"{name:22} {passed:3} of {len(found['steps']):3} right, {found['wall_s']:5.0f} s  "
    if best is None:
        return passed > 0, None, text + summary["reason"]
    text += f"{best['value']:6.2f}x [{best['low']:.2f}, {best['high']:.2f}] over {best['against']:12}"
    child = next((s for s in found["steps"] if s["decision"]["child"] == summary["best_candidate"]), None)
    text += child["decision"]["source"] if child else ""
    judged = child["evaluations"] if child else []
    if not any(e["depth"] == "confirmed" and e["status"] == "PASSED" for e in judged):
        return (
            passed > 0,
            None,
            text + "  NOT CONFIRMED: " + "".join(e["status"] for e in judged if e["depth"] == "confirmed"),
        )
    return passed > 0, best["value"] if best["low"] > 1 else None, text


def main() -> None:
    """Run all, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--budget", type=float, default=90.0)
    parser.add_argument("--task", action="append")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    names = arguments.task or sorted(p.parent.name for p in TASKS.glob("*/task.yaml"))
    right, gains = 0, []
    for name in names:
        found = run_task(name, arguments.out, budget_s=arguments.budget, unseen=arguments.unseen)
        correct, gain, line = row(name, found)
        right += correct
        gains += [gain] if gain else []
        print(line, flush=True)
    mean = math.exp(sum(math.log(g) for g in gains) / len(gains)) if gains else 1.0
    print(
        f"\n{right} of {len(names)} right, {len(gains)} faster than the best baseline "
        f"(geometric mean of those {mean:.2f}x)"
    )


if __name__ == "__main__":
    main()
