"""The optimizer's proofs in the world of world.yaml, its gates, its budget, and that kill -9 costs no call twice."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from promptopt.proving import Outcome, pool_of, prove, split_of, table, trial_in
from promptopt.world import World

from kernelwright.promptopt.designs import balanced_blocks, block_size, hadamard
from kernelwright.promptopt.gates import not_fallen, validated
from kernelwright.promptopt.journal import Journal, Limits, OutOfBudget
from kernelwright.promptopt.optimizer import Draft, EvidenceOptimizer, Settings
from kernelwright.promptopt.trials import (
    FunctionRunner,
    ProposalRequest,
    ProposedText,
    TrialRequest,
    TrialResult,
    split_by_family,
)
from kernelwright.records import PromptScore

WORKER = Path(__file__).with_name("paid_worker.py")
SEEDS = range(20)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [prove(seed) for seed in SEEDS]


def test_the_world_is_the_one_that_was_fixed() -> None:
    world = World(0)
    effects = [p.effect for p in world.principles]
    assert sum(e > 0 for e in effects) == 12 and effects.count(0.0) == 12 and sum(e < 0 for e in effects) == 4
    assert min(e for e in effects if e > 0) == 0.05 and max(effects) == 0.2
    assert (world.noise_sd, world.trials) == (0.25, 400)
    scores = [world.score("x", "scan/0", str(i)) for i in range(4000)]
    mean = sum(scores) / len(scores)
    assert abs(math.sqrt(sum((s - mean) ** 2 for s in scores) / len(scores)) - 0.25) < 0.01


def test_true_principles_are_found_and_harmful_ones_are_not_adopted(outcomes: list[Outcome]) -> None:
    assert all(o.found >= 0.8 for o in outcomes), [o.found for o in outcomes]
    assert not any(o.harmful for o in outcomes)
    assert all(o.trials <= 400 for o in outcomes)


def test_the_best_beats_the_seed_on_held_out(outcomes: list[Outcome]) -> None:
    assert sum(o.optimized.promoted and o.held_out > 0 for o in outcomes) >= 19


def test_where_nothing_helps_nothing_is_promoted() -> None:
    nothing = [prove(seed, null=True) for seed in SEEDS]
    assert sum(not o.optimized.promoted for o in nothing) >= 19
    assert any(o.optimized.proposals for o in nothing), "the gates, not a lack of proposals, must do it"


def test_credit_is_due(outcomes: list[Outcome]) -> None:
    """Each lesson's interval holds its true effect, and the reported gain's interval the true gain."""
    covered = [hit for o in outcomes for hit in o.covered]
    assert len(covered) == 20 * 28 and sum(covered) / len(covered) >= 0.9
    gains = [(o.optimized.gain, o.held_out) for o in outcomes if o.optimized.gain is not None]
    assert sum(g.low <= true <= g.high for g, true in gains) >= 17


@pytest.mark.slow
def test_the_power_curve(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[list[object]] = [["trials", "found", "harmful", "null", "promoted", "gain"]]
    for trials in (100, 200, 400, 800):
        made = [prove(seed, trials=trials) for seed in SEEDS]
        mean = [sum(getattr(o, name) for o in made) / len(made) for name in ("found", "harmful", "null", "held_out")]
        promoted = sum(o.optimized.promoted for o in made)
        rows.append([str(trials), f"{mean[0]:.2f}", f"{mean[1]:.2f}", f"{mean[2]:.2f}", promoted, f"{mean[3]:.2f}"])
    with capsys.disabled():
        sys.stdout.write("\n" + table(rows) + "\n")
    shares = [float(str(row[1])) for row in rows[1:]]
    assert shares == sorted(shares)


def test_designs_are_balanced() -> None:
    names = [f"l{i}" for i in range(28)]
    blocks = list(balanced_blocks(names, blocks=3, seed=1))
    assert blocks == list(balanced_blocks(names, blocks=3, seed=1)) != list(balanced_blocks(names, blocks=3, seed=2))
    for block in blocks:
        assert len(block) == block_size(28) == 32
        for one, other in zip(names, names[1:], strict=False):
            assert sum(one in row for row in block) == 16
            assert sum(one in row and other in row for row in block) == 8
    assert (hadamard(8) @ hadamard(8).T == 8 * hadamard(1) * [[i == j for j in range(8)] for i in range(8)]).all()


def test_gates_share_the_error_among_proposals_and_never_let_a_fall_through() -> None:
    differences = [0.3, 0.1, 0.25, 0.05, 0.2, -0.05, 0.3, 0.1]
    score = PromptScore(split="validation", gain=0.156, low=0.05, high=0.26, pairs=8)
    assert validated(differences, score, proposals=1).passed
    assert not validated(differences, score, proposals=2000).passed
    assert not not_fallen(PromptScore(split="held_out", gain=-0.001, low=-1, high=1, pairs=4)).passed


def test_whole_families_are_split() -> None:
    families = {f"{family}{i}": family for family in "abcdefgh" for i in range(3)}
    split = split_by_family(families)
    parts = [{families[t] for t in part} for part in (split.train, split.validation, split.held_out)]
    assert [len(p) for p in parts] == [4, 2, 2] and len(set.union(*parts)) == 8
    with pytest.raises(ValueError, match="three op families"):
        split_by_family({"a": "x", "b": "y"})


class Rewriter:
    """A scripted proposer: what it says in turn."""

    def __init__(self, *texts: ProposedText) -> None:
        self.texts, self.read = texts, []

    def propose(self, request: ProposalRequest) -> ProposedText:
        self.read.append(request)
        return self.texts[request.number - 1]

    def recorded(self, request: ProposalRequest) -> None:
        return None


def test_bad_rewrites_are_rejected_unpaid_with_the_reason_and_kept() -> None:
    world = World(3)
    good = world.seed_prompt + " Never write an intermediate that is read only once. Pack weights once in prepare. " + (
        "Use the widest vectors that the machine has. Write long results past the caches."
    )
    proposer = Rewriter(
        ProposedText(""),
        ProposedText("Write the best kernel and make sure that", finish="length"),
        ProposedText("Return the reference whenever a kernel is hard to write."),
        ProposedText(good, reason="what fast kernels had in common"),
    )
    settings = Settings(trials=200, text_proposals=4, seed=3)
    journal = Journal(trial_in(world), Limits(trials=200))
    optimizer = EvidenceOptimizer(settings, proposer=proposer)
    found = optimizer.optimize(Draft(world.seed_prompt), [], split_of(world), journal)
    assert [p.accepted for p in found.proposals] == [False, False, False, True]
    for number, word in enumerate(("empty", "truncated")):
        assert word in found.proposals[number].rejected_because
    assert "games the judge" in found.proposals[2].rejected_because
    assert found.promoted and found.best.base == good
    assert [s.split for s in found.proposals[3].scores] == ["validation", "held_out", "remeasured"]
    assert "games the judge" in proposer.read[3].shown, "a proposer reads why the last ones were rejected"
    assert max(len(request.shown) for request in proposer.read) <= 8000


def test_every_limit_ends_it_cleanly_without_a_promotion() -> None:
    world = World(1)

    def dear(request: TrialRequest) -> TrialResult:
        score = world.score(request.prompt, request.task, request.repetition)
        return TrialResult(score=score, cost_usd=0.5, tokens=100, seconds=2.0, measurements=3)

    limited = {"cost_usd": 20, "tokens": 3000, "seconds": 50, "measurements": 60, "trials": 33}
    for limits in (Limits(**{name: value}) for name, value in limited.items()):
        journal = Journal(FunctionRunner(dear), limits)
        found = EvidenceOptimizer(Settings(seed=1)).optimize(
            Draft(world.seed_prompt), pool_of(world), split_of(world), journal
        )
        assert found.ended.startswith("out of budget") and not found.promoted and found.best == found.seed
        assert found.spent.trials <= 40


def test_a_journal_pays_once_and_survives_a_torn_line(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    asked: list[str] = []

    def run(request: TrialRequest) -> TrialResult:
        asked.append(request.task)
        return TrialResult(score=1.0, cost_usd=2.0)

    request = TrialRequest("p", "t")
    Journal(FunctionRunner(run), Limits(), file=file).trial(request)
    file.write_bytes(file.read_bytes() + b'{"format": "kernelwright/prompt-tri')
    again = Journal(FunctionRunner(run), Limits(cost_usd=2.0), file=file)
    assert again.trial(request).score == 1.0 and asked == ["t"] and again.spent.cost_usd == 2.0
    with pytest.raises(OutOfBudget):
        again.trial(TrialRequest("p", "t", "1"))


def run_worker(folder: Path, *, pause_s: float = 0.0, kill_after: int | None = None) -> None:
    """Run to the end, or until the ledger has so many lines more, then kill -9."""
    worker = subprocess.Popen([sys.executable, str(WORKER), str(folder), str(pause_s)])
    ledger = folder / "ledger.jsonl"
    deadline = time.monotonic() + 120
    while worker.poll() is None and time.monotonic() < deadline:
        lines = ledger.read_bytes().count(b"\n") if ledger.exists() else 0
        if kill_after is not None and lines >= kill_after:
            break
        time.sleep(0.001)
    if kill_after is not None:
        worker.kill()
    worker.wait(timeout=60)


def check_kills(tmp_path: Path, points: int, rounds: int) -> None:
    whole = tmp_path / "whole"
    run_worker(whole)
    expected = (whole / "lineage.json").read_text()
    calls = (whole / "ledger.jsonl").read_bytes().count(b"\n")
    source = random.Random(5)
    for number in range(rounds):
        killed = tmp_path / f"killed{number}"
        for point in sorted(source.sample(range(1, calls), points)):
            run_worker(killed, pause_s=source.choice((0.0, 0.001, 0.003)), kill_after=point)
        run_worker(killed)
        keys = [json.loads(line)["key"] for line in (killed / "ledger.jsonl").read_text().splitlines()]
        assert len(keys) == len(set(keys)) == calls, "a paid call was made twice, or one was left out"
        assert (killed / "lineage.json").read_text() == expected


def test_kill_9_repeats_no_paid_call(tmp_path: Path) -> None:
    check_kills(tmp_path, points=3, rounds=1)


@pytest.mark.slow
def test_kill_9_at_twenty_points_repeats_no_paid_call(tmp_path: Path) -> None:
    check_kills(tmp_path, points=10, rounds=2)
