"""How many KernelBench tasks become pipelines at their reduced shapes, and what stands in the way of the others?

    python tests/benchmarks/pipeline_coverage.py TABLE.csv KERNELBENCH_ROOT [--out FILE.jsonl] [--all] [--report]

The table has the columns level, id, name, family, scaled_overrides_tested and subset40; rows marked there are looked
at, or with --all every row. A row's result is one line of the output file, and is not made again. Import only: that the
imported algorithms are right is the business of tests/search/test_lowering.py and, for a task, of the judge.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from pathlib import Path
from typing import Any

from kernelwright import wiring
from kernelwright.config import RunConfig, load_config
from kernelwright.errors import KernelwrightError
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.lowering import LoweringError, lower_all
from kernelwright.search.stage_table import StageTable
from kernelwright.tasks.kernelbench import KernelBenchLoader, require_kernelbench
from kernelwright.workspace import Workspace


def imported(row: dict[str, str], root: Path, place: Workspace, config: RunConfig) -> dict[str, Any]:
    """One row's result: number of Funcs and genes, or the reason."""
    begun = time.monotonic()
    found: dict[str, Any] = {"key": f"{row['level']}/{row['id']}", "name": row["name"], "family": row["family"]}
    try:
        overrides = json.loads(row["scaled_overrides_tested"] or "{}")
        task = KernelBenchLoader().load(require_kernelbench(found["key"], root), overrides=overrides)
        pipeline = next(iter(lower_all(wiring.task_facts(place, task, config)).values()))
        space = GenomeSpace(StageTable(pipeline))
        found |= {"funcs": len(pipeline.funcs), "genes": len(pipeline.funcs) * space.genes, "reason": ""}
    except (LoweringError, KernelwrightError) as error:
        found |= {"funcs": 0, "genes": 0, "reason": str(error)[:300]}
    return {**found, "seconds": round(time.monotonic() - begun, 1)}


def print_report(rows: list[dict[str, str]], results: dict[str, dict[str, Any]]) -> None:
    """The table, and the count."""
    done = [results[k] for r in rows if (k := f"{r['level']}/{r['id']}") in results]
    for found in done:
        said = f"{found['funcs']:3} Funcs" if found["funcs"] else f"no: {found['reason']}"
        print(f"{found['key']:7} {found['name'][:44]:44} {found['family'][:14]:14} {said}")
    print(f"{sum(bool(f['funcs']) for f in done)} of {len(done)} import ({len(rows)} rows in all)")


def main() -> None:
    """Import what is not imported yet, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("root", type=Path)
    parser.add_argument("--out", type=Path, default=Path("pipeline_coverage.jsonl"))
    parser.add_argument("--all", action="store_true", help="all rows of the table")
    parser.add_argument("--report", action="store_true", help="report what is there, import nothing")
    options = parser.parse_args()
    with options.table.open(newline="", encoding="utf-8") as stream:
        rows = [r for r in csv.DictReader(stream) if options.all or r["subset40"] == "yes"]
    lines = options.out.read_text(encoding="utf-8").splitlines() if options.out.exists() else []
    results = {found["key"]: found for found in map(json.loads, lines)}
    place, config = Workspace.open(options.out.parent / "coverage-workspace"), load_config()
    for row in rows if not options.report else ():
        key = f"{row['level']}/{row['id']}"
        if key not in results:
            results[key] = imported(row, options.root, place, config)
            with options.out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(results[key]) + "\n")
            print(f"{key} {results[key]['seconds']} s", file=sys.stderr, flush=True)
    print_report(rows, results)


if __name__ == "__main__":
    main()
