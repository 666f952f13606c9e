"""The simulated world: pure arithmetic from (prompt, task, repetition) to a noisy score. It knows no optimizer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

FILE = Path(__file__).with_name("world.yaml")


@dataclass(frozen=True)
class Principle:
    id: str
    effect: float
    text: str


class World:
    """One seed of the world of world.yaml; with ``null`` every effect is zero."""

    def __init__(self, seed: int, *, null: bool = False) -> None:
        data = yaml.safe_load(FILE.read_text(encoding="utf-8"))
        self.seed, self.noise_sd, self.trials = seed, float(data["noise_sd"]), int(data["trials"])
        self.seed_prompt: str = data["seed_prompt"]
        self.principles = [
            Principle(p["id"], 0.0 if null else float(p["effect"]), p["text"]) for p in data["principles"]
        ]
        self.split: dict[str, list[str]] = {
            part: [f"{family}/{number}" for family in families for number in range(data["tasks_per_family"])]
            for part, families in data["families"].items()
        }
        names = [name for part in self.split.values() for name in part]
        drawn = np.random.default_rng([seed, 1]).normal(data["base_mean"], data["base_sd"], len(names))
        self.base = dict(zip(names, drawn.tolist(), strict=True))
        self.asked = 0

    @property
    def true_strong(self) -> set[str]:
        return {p.id for p in self.principles if p.effect >= 0.1}

    @property
    def harmful(self) -> set[str]:
        return {p.id for p in self.principles if p.effect < 0}

    def expected(self, prompt: str) -> float:
        """What the principles in a prompt add on any task, without noise."""
        return sum(p.effect for p in self.principles if p.text in prompt)

    def score(self, prompt: str, task: str, repetition: str) -> float:
        """A noisy trial; the same arguments give the same score, whatever was asked before."""
        self.asked += 1
        key = hashlib.sha256(f"{self.seed}|{prompt}|{task}|{repetition}".encode()).digest()[:8]
        noise = np.random.default_rng(int.from_bytes(key, "big")).normal(0.0, self.noise_sd)
        return float(self.base[task] + self.expected(prompt) + noise)
