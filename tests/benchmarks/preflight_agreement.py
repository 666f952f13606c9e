"""Does preflight agree with a table of degenerate KernelBench tasks? Resumable; asserts nothing.

    python tests/benchmarks/preflight_agreement.py TABLE.csv KERNELBENCH_ROOT [--out FILE.jsonl] [--report]

The table has the columns level, id, name, scaled_overrides_tested, degenerate_fp32_tol_1e-4 and degenerate_tol_1e-2.
Every row is checked at its reduced shapes; a row's result is one line of the output file, and is not made again.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from pathlib import Path
from typing import Any

from kernelwright.protocols import JudgeSettings
from kernelwright.tasks.kernelbench import KernelBenchLoader, require_kernelbench
from kernelwright.toolexec.preflight import preflight

COLUMNS = {"0.0001": "degenerate_fp32_tol_1e-4", "0.01": "degenerate_tol_1e-2"}


def key_of(row: dict[str, str]) -> str:
    """``2/23``."""
    return f"{row['level']}/{row['id']}"


def checked(row: dict[str, str], root: Path) -> dict[str, Any]:
    """Preflight's result for one row."""
    overrides = json.loads(row["scaled_overrides_tested"] or "{}")
    task = KernelBenchLoader().load(require_kernelbench(key_of(row), root), overrides=overrides)
    start = time.monotonic()
    report = preflight(task, JudgeSettings())
    return {
        "key": key_of(row),
        "name": row["name"],
        "fit": report.fit,
        "degenerate": {tolerance: list(names) for tolerance, names in report.degenerate.items()},
        "findings": [[f.check, f.outcome, f.message] for f in report.findings if f.outcome != "ok"],
        "seconds": round(time.monotonic() - start, 1),
    }


def told_by_table(row: dict[str, str]) -> dict[str, list[str]]:
    """Tolerance -> words, as the table has them."""
    return {tolerance: [w for w in row[column].split("+") if w] for tolerance, column in COLUMNS.items()}


def print_report(rows: list[dict[str, str]], results: dict[str, dict[str, Any]]) -> None:
    """Agreements counted, disagreements listed with what preflight said."""
    done = [r for r in rows if key_of(r) in results]
    apart = []
    for row in done:
        found = results[key_of(row)]
        table = told_by_table(row)
        mine = {t: found["degenerate"].get(t, []) for t in COLUMNS}
        if any(sorted(table[t]) != sorted(mine[t]) for t in COLUMNS):
            apart.append((row, table, mine, found))
    print(f"{len(done)} of {len(rows)} rows checked; {len(done) - len(apart)} agree, {len(apart)} do not")
    for row, table, mine, found in apart:
        for tolerance in COLUMNS:
            if sorted(table[tolerance]) != sorted(mine[tolerance]):
                said = "+".join(mine[tolerance]) or "-"
                stated = "+".join(table[tolerance]) or "-"
                print(f"  {key_of(row):6} {row['name'][:48]:48} {tolerance}: table {stated}, here {said}")
        for check, outcome, message in found["findings"]:
            if outcome in ("broken", "unfit"):
                print(f"         {outcome}: {check}: {message[:150]}")
    refused = [r for r in done if not results[key_of(r)]["fit"]]
    print(f"{len(refused)} refused: {' '.join(key_of(r) for r in refused)}")
    degenerate = [r for r in done if any(told_by_table(r).values())]
    fit = sum(results[key_of(r)]["fit"] for r in degenerate)
    print(f"{len(degenerate)} rows are degenerate by the table; {fit} of them can be judged here, by error ratio")


def main() -> None:
    """Check what is not checked yet, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("root", type=Path)
    parser.add_argument("--out", type=Path, default=Path("preflight_agreement.jsonl"))
    parser.add_argument("--only", nargs="*", default=[], help="rows as LEVEL/ID, made again")
    parser.add_argument("--degenerate-first", action="store_true", help="begin with the rows that the table names")
    parser.add_argument("--report", action="store_true", help="report what is there, check nothing")
    options = parser.parse_args()
    with options.table.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    lines = options.out.read_text(encoding="utf-8").splitlines() if options.out.exists() else []
    results = {found["key"]: found for found in map(json.loads, lines)}
    order = sorted(rows, key=lambda r: not any(told_by_table(r).values())) if options.degenerate_first else rows
    for row in order if not options.report else ():
        key = key_of(row)
        if key not in options.only if options.only else key in results:
            continue
        results[key] = checked(row, options.root)
        with options.out.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(results[key]) + "\n")
        print(f"{key} {results[key]['seconds']} s", file=sys.stderr)
    print_report(rows, results)


if __name__ == "__main__":
    main()
