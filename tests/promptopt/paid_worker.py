"""An optimization in the simulated world that can be killed: trials and proposals are paid for in a ledger of lines.

Usage: paid_worker.py FOLDER [SECONDS_A_TRIAL]. Writes FOLDER/lineage.json when it ends.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from promptopt.proving import pool_of, split_of
from promptopt.world import World

from kernelwright.promptopt.journal import Journal, Limits, owned
from kernelwright.promptopt.optimizer import Draft, EvidenceOptimizer, Settings
from kernelwright.promptopt.trials import ProposalRequest, ProposedText, TrialRequest, TrialResult
from kernelwright.workspace import append_line

TRIALS = 120


class PaidWorld:
    """Runner and proposer; a line in the ledger *is* the payment, with the answer that it bought."""

    def __init__(self, ledger: Path, world: World, pause_s: float) -> None:
        self.ledger, self.world, self.pause_s = ledger, world, pause_s
        text = ledger.read_text() if ledger.exists() else ""
        self.paid = {line["key"]: line for line in map(json.loads, text.splitlines())}

    def _pay(self, key: str, answer: dict[str, object]) -> None:
        time.sleep(self.pause_s)
        append_line(self.ledger, json.dumps({"key": key, **answer}))
        time.sleep(self.pause_s)

    def recorded(self, request: TrialRequest | ProposalRequest) -> TrialResult | ProposedText | None:
        line = self.paid.get(request.key)
        if line is None:
            return None
        kind = ProposedText if isinstance(request, ProposalRequest) else TrialResult
        return kind(**{k: v for k, v in line.items() if k != "key"})

    def run(self, request: TrialRequest) -> TrialResult:
        score = self.world.score(request.prompt, request.task, request.repetition)
        result = TrialResult(score=score, cost_usd=0.01, tokens=1000, seconds=1.0, feedback=f"scored {score:.2f}")
        self._pay(request.key, result.to_json())
        return result

    def propose(self, request: ProposalRequest) -> ProposedText:
        words = ["Keep functions short.", "Think first", "Return the reference when stuck."][request.number % 3]
        answer = ProposedText(text=f"{request.base} {words}", reason=f"idea {request.number}", cost_usd=0.1, tokens=900)
        self._pay(request.key, vars(answer))
        return answer


def main(folder: Path, pause_s: float) -> None:
    world = World(7)
    with owned(folder):
        paid = PaidWorld(folder / "ledger.jsonl", world, pause_s)
        journal = Journal(paid, Limits(trials=TRIALS), file=folder / "journal.jsonl")
        optimizer = EvidenceOptimizer(Settings(trials=TRIALS, text_proposals=3, seed=7), proposer=paid)
        found = optimizer.optimize(Draft(world.seed_prompt), pool_of(world), split_of(world), journal)
        lineage = {
            "proposals": [json.loads(json.dumps(dataclasses.asdict(p), default=str)) for p in found.proposals],
            "best": found.best.text,
            "gain": found.gain.to_json() if found.gain else None,
            "spent": dataclasses.asdict(found.spent),
            "ended": found.ended,
        }
        part = folder / "lineage.part"
        part.write_text(json.dumps(lineage, sort_keys=True))
        part.replace(folder / "lineage.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
