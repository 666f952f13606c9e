"""Does KernelBench's own analysis script read what `suite report --export` writes, and find the figures that went in?

Run, with kernelwright installed and a checkout of KernelBench:
    python tests/benchmarks/kernelbench_analysis.py CHECKOUT [--level 1]
Rows of every task of a level are made up, crashed ones and wrong ones among them, exported, and given to the checkout's
scripts/benchmark_eval_analysis.py, unchanged, in a process of its own. It takes pydra and tabulate for its command line
and its tables; where they are missing, stand-ins take their place. Exit 1 when a figure differs, 3 without the script.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from suite.rows import a_plan, a_row  # noqa: E402

from kernelwright.records import SuiteRow, SuiteTask  # noqa: E402
from kernelwright.suite.export import export_kernelbench  # noqa: E402

ASK = """
import importlib, json, sys, types

def stand_in(name, **fields):
    try:
        importlib.import_module(name)
    except ImportError:
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(fields)

stand_in("pydra", REQUIRED=None, Config=object, main=lambda base: lambda function: function)
stand_in("tabulate", tabulate=lambda rows, headers=(), tablefmt="": str(rows))
sys.path[:0] = ["src", "scripts"]
from benchmark_eval_analysis import analyze_greedy_eval
level, run, baseline, runs, out = sys.argv[1:]
found = analyze_greedy_eval(run, "-", "-", int(level), baseline_file=baseline, eval_results_dir=runs)
json.dump(found, open(out, "w"))
"""


def tasks_of(checkout: Path, level: int) -> list[SuiteTask]:
    """Every task of a level, by number."""
    found = []
    for file in (checkout / "KernelBench" / f"level{level}").glob("*.py"):
        number, key = int(file.name.partition("_")[0]), re.sub(r"[^A-Za-z0-9_-]", "_", file.stem)
        found.append(SuiteTask(key=f"level{level}-{key}", task=str(file), level=level, number=number, file=file.name))
    return sorted(found, key=lambda task: task.number)


def made_up(tasks: list[SuiteTask]) -> list[SuiteRow]:
    """A fifth of them not right, half of these before their baselines were measured."""
    rows = []
    for i, task in enumerate(tasks):
        early = {"outcome": "crashed", "baselines_us": {}} if i % 10 == 0 else {}
        rows.append(a_row(task.key, None if i % 5 == 0 else 0.3 + i / 50, correct=bool(i % 5), **early))
    return rows


def expected(rows: list[SuiteRow], ps: list[float]) -> dict[str, float]:
    """The same figures, from the rows."""
    right = [r for r in rows if r.correct]
    ratios = [r.baselines_us["eager"] / (r.latency_us or math.nan) for r in right]
    told = {f"fast_{p}": sum(ratio > p for ratio in ratios) / len(rows) for p in ps}
    return {"correct": len(right), "mean": math.exp(sum(map(math.log, ratios)) / len(ratios)), **told}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--level", type=int, default=1)
    given = parser.parse_args()
    checkout = given.checkout.resolve()
    if not (checkout / "scripts" / "benchmark_eval_analysis.py").exists():
        print(f"{checkout} has no scripts/benchmark_eval_analysis.py", file=sys.stderr)
        return 3
    tasks = tasks_of(checkout, given.level)
    rows = made_up(tasks)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files = export_kernelbench(a_plan(*tasks), rows, arm="main", folder=root)
        (baseline,) = [f for f in files if f.name == "baseline_time_torch.json"]
        out = root / "found.json"
        words = [str(given.level), f"made_level{given.level}", str(baseline), str(root / "runs"), str(out)]
        subprocess.run([sys.executable, "-c", ASK, *words], cwd=checkout, check=True)
        found = json.loads(out.read_text())
    theirs = {"correct": found["correct_count"], "mean": found["geo_mean_speedup"]}
    theirs |= {f"fast_{p}": value for p, value in found["fast_p"].items()}
    ours = expected(rows, [float(p) for p in found["fast_p"]])
    differ = [name for name in ours if not math.isclose(ours[name], theirs[name], rel_tol=1e-9)]
    for name in ours:
        print(f"{name:10} put in {ours[name]:.6f}, its script says {theirs[name]:.6f}")
    print(f"{len(tasks)} tasks; " + (f"differ: {', '.join(differ)}" if differ else "all the same"))
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
