"""What Ray costs a candidate: the same instant judge, in this process and in a Ray actor.

Run, with kernelwright[ray] installed:
    python tests/benchmarks/ray_overhead.py [--candidates 200]
Judges candidates by their text (tests/fakes/executors.py), so that nothing but the way there and back is timed. Prints
the median and the largest time of a call, and how many verdicts differ.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))

from fakes.executors import TextExecutor  # noqa: E402
from fakes.records import a_candidate, a_task  # noqa: E402

from kernelwright.protocols import EvaluationSession, JudgeSettings  # noqa: E402
from kernelwright.records import Candidate, Depth, Evaluation  # noqa: E402
from kernelwright.toolexec.executors.ray import RayExecutor  # noqa: E402


def judged(session: EvaluationSession, candidates: Sequence[Candidate]) -> tuple[list[Evaluation], list[float]]:
    """The verdicts, and milliseconds a call."""
    verdicts, times = [], []
    for candidate in candidates:
        began = time.perf_counter()
        verdicts.append(session.evaluate(candidate, depth=Depth.FULL))
        times.append(1e3 * (time.perf_counter() - began))
    return verdicts, times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=200)
    candidates = [a_candidate(f"// {n}\n") for n in range(parser.parse_args().candidates)]
    local, local_ms = judged(TextExecutor().open(a_task(), settings=JudgeSettings()), candidates)
    with RayExecutor("fakes.executors:TextExecutor").open(a_task(), settings=JudgeSettings()) as session:
        there, there_ms = judged(session, candidates)
    differ = sum(a.status is not b.status for a, b in zip(local, there, strict=True))
    print(f"{len(candidates)} candidates, {differ} statuses differ")
    print(f"local: median {median(local_ms):.2f} ms, largest {max(local_ms):.2f} ms")
    print(f"ray:   median {median(there_ms):.2f} ms, largest {max(there_ms):.2f} ms")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
