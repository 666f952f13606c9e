"""How often search finds the right solution: hit@1 and hit@3 with intervals, on frozen queries among distractors.

Run, with kernelwright installed:
    python tests/benchmarks/retrieval.py [--half tune|held_out] [--distractors 560] [--show] [--keep FOLDER]
A hit is any expected solution among the first 1 or 3. Tune on --half tune only; held_out is for the figure. Intervals
are Wilson's at 95 %. Each query goes through Index.search as `library search` does, with the language filter it states.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from plausible import entries, write_folder

from kernelwright.memory.catalogue import Wanted
from kernelwright.memory.index import Index
from kernelwright.memory.library import Library

HERE = Path(__file__).parent


def wilson(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a share (Wilson, 1927)."""
    if not n:
        return 0.0, 1.0
    p, d = hits / n, 1 + z * z / n
    middle, half = (p + z * z / (2 * n)) / d, z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / d
    return middle - half, middle + half


def prepared(folder: Path, distractors: int, model: str) -> tuple[Index, Library]:
    """The shipped library and the distractors, indexed."""
    shelf = folder / f"distractors-{distractors}"
    if not shelf.exists():
        for facts in entries(distractors, seed=20261129):
            write_folder(shelf, facts)
    library = Library(user=shelf)
    index = Index(folder / "index", model=model)
    report = index.sync(library, progress=lambda done, of: print(f"  {done} of {of}", file=sys.stderr))
    assert not report.problems, report.problems
    return index, library


def rank_of(index: Index, query: dict[str, Any], right: set[str], *, limit: int = 10) -> tuple[int, list[Any]]:
    """Rank of the first right answer, 0 when it is not among the first ten; and what was found."""
    wanted = Wanted(languages=[query["language"]] if "language" in query else (), states=["promoted"])
    hits = index.search(query["text"], wanted=wanted, limit=limit)
    return next((n for n, hit in enumerate(hits, 1) if hit.id in right), 0), hits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=["tune", "held_out"], default="tune")
    parser.add_argument("--queries", type=Path, default=HERE / "retrieval_queries.yaml")
    parser.add_argument("--distractors", type=int, default=560)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--keep", type=Path, help="keep index and distractors here for the next time")
    parser.add_argument("--show", action="store_true", help="print the queries that missed (tune half only)")
    options = parser.parse_args()
    data = yaml.safe_load(options.queries.read_text(encoding="utf-8"))
    queries = [q for q in data["queries"] if q["half"] == options.half]
    with tempfile.TemporaryDirectory() as temporary:
        index, library = prepared(options.keep or Path(temporary), options.distractors, options.model)
        known = set(library.scan())
        ranks: dict[str, list[int]] = defaultdict(list)
        for query in queries:
            assert set(query["expected"]) <= known, f"{query['id']}: {query['expected']} are not in the library"
            rank, hits = rank_of(index, query, set(query["expected"]))
            ranks["all"].append(rank)
            ranks[query["kind"]].append(rank)
            if options.show and options.half == "tune" and rank != 1:
                print(
                    f"{rank:2} {query['id']} {query.get('language', '')} {query['text'][:90]!r} -> {query['expected']}"
                )
                print("      " + "; ".join(f"{h.id} ({h.why})" for h in hits[:3]))
        padding = f"{options.distractors} distractors, {index.catalogue.count()} entries"
        print(f"{options.queries.name}, half {options.half}, {padding}, model {options.model}")
        for kind, found in ranks.items():
            line = [f"{kind:8} n={len(found):3}"]
            for k in (1, 3, 10):
                hits_at = sum(0 < r <= k for r in found)
                low, high = wilson(hits_at, len(found))
                line.append(f"hit@{k} {hits_at / len(found):.3f} [{low:.3f}, {high:.3f}]")
            print("  ".join(line))
        index.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
