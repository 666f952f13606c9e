"""Prompts optimized with the one judge, from the command line: what is proposed, accepted, promoted and compared.

Run, with kernelwright and its `dev` extra installed:
    python tests/benchmarks/prompts_with_judge.py OUT [--trials 56] [--no-screen] [--pairs 6]
A model on loopback writes kernels as its prompt tells it to (tests/promptopt/kernel_model.py): plain ones, a slip in
every fifth, the fast one where a lesson asks for vector registers, a cheat where a lesson asks for static buffers. The
optimization is killed once with SIGKILL and goes on. OUT holds what each command said.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main() -> None:
    """Run all, show what was said."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--trials", type=int, default=56)
    parser.add_argument("--no-screen", action="store_true", help="rewrites only: 24 trials are enough")
    parser.add_argument("--pairs", type=int, default=6)
    given = parser.parse_args()

    from promptopt.judged_proof import prove

    proof = prove(given.out, trials=given.trials, screen=not given.no_screen, pairs=given.pairs)
    for name in ("killed", "resumed", "log", "compared", "ablated"):
        print(f"=== {name}\n{(given.out / f'{name}.txt').read_text()}")
    print(f"answers given beyond those kept (at most 1, cut off by the kill): {proof.asked_twice}")


if __name__ == "__main__":
    main()
