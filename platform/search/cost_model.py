"""The cost model: a small network turns a Func's terms into 27 coefficients of a hand-written formula.

    cost(schedule) = sum over Funcs and terms of NOMINAL[term] * exp(network(Func)[term]) * terms[Func, term]

in nanoseconds, as in Adams et al. 2019 (features -> network -> 27 non-negative coefficients -> formula). A fresh
network gives 0 everywhere, so that an untrained model is the formula at its nominal coefficients; training moves those
per kind of Func. Owns prediction, training and the model's file; measuring is not its business. numpy alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.search.features import FACTS, TERMS, Features

FORMAT = "kernelwright/cost_model/1"
NOMINAL = np.array(
    [
        0.12, 1.2, 4.0, 0.15, 0.5, 0.15, 0.12, 0.5,
        0.8, 0.25, 0.6, 1.0, 3.0, 5.0, 3.0,
        0.8, 40.0, 120.0, 0.3, 2.0, 6.0, 0.2, 1.5, 0.8,
        0.5, 2000.0, 0.05,
    ]
)  # fmt: skip
"""Nanoseconds a unit of each term: starting values by rule of thumb, not measured."""
HIDDEN = 32
INPUTS = len(TERMS) + FACTS
BOUND = 3.0
"""A coefficient moves by at most exp(3), i.e. 20 times, off its nominal value."""
START_NS = 500.0
"""What a call costs when nothing is done."""
SCALE = 20.0
"""log2 of amounts is divided by it, to be near 1."""


@dataclass
class Sample:
    """A measured schedule."""

    terms: np.ndarray
    """[func, term]."""
    facts: np.ndarray
    """[func, fact]."""
    measured_ns: float
    group: str = ""
    """Pipeline that it belongs to."""


@dataclass
class CostModel:
    """Network and provenance."""

    weights: dict[str, np.ndarray]
    provenance: dict[str, Any] = field(default_factory=dict)
    """How it was trained: pipelines, schedules, machine, date, scores. {} for an untrained one."""

    @staticmethod
    def untrained(seed: int = 0) -> CostModel:
        """The formula at its nominal coefficients."""
        rng = np.random.default_rng(seed)
        return CostModel(
            {
                "first": rng.normal(0, 1 / np.sqrt(INPUTS), (INPUTS, HIDDEN)),
                "first_bias": np.zeros(HIDDEN),
                "second": np.zeros((HIDDEN, len(TERMS))),
                "second_bias": np.zeros(len(TERMS)),
            }
        )

    @staticmethod
    def shipped() -> CostModel:
        """The model that comes with kernelwright; its provenance says what it was trained on."""
        return CostModel.load(Path(__file__).with_name("cost_model.json"))

    def cost_ns(self, features: Features) -> np.ndarray:
        """[batch] predicted nanoseconds of a call; of partial schedules, what is decided so far."""
        terms = features.terms
        facts = np.broadcast_to(features.facts, (*terms.shape[:2], features.facts.shape[1]))
        total: np.ndarray = START_NS + self._stages(terms, facts)[0].sum(axis=-1)
        return total

    def stages_ns(self, terms: np.ndarray, facts: np.ndarray) -> np.ndarray:
        """[..., func] predicted nanoseconds of every Func."""
        return self._stages(terms, facts)[0]

    def _stages(self, terms: np.ndarray, facts: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """([..., func] nanoseconds, what the gradient needs)."""
        inputs = np.concatenate([np.log2(1.0 + terms) / SCALE, facts], axis=-1).astype(np.float32)
        weights = {k: w.astype(np.float32) for k, w in self.weights.items()}
        raw = inputs @ weights["first"] + weights["first_bias"]
        hidden = np.maximum(raw, 0.0)
        moved = hidden @ weights["second"] + weights["second_bias"]
        bounded = BOUND * np.tanh(moved / BOUND)
        parts = NOMINAL * np.exp(bounded) * terms
        return parts.sum(axis=-1), {"inputs": inputs, "hidden": hidden, "bounded": bounded, "parts": parts}

    def loss_and_gradient(self, samples: Sequence[Sample]) -> tuple[float, dict[str, np.ndarray]]:
        """Mean squared error of log time, and its gradient."""
        loss, gradient = 0.0, {k: np.zeros_like(w) for k, w in self.weights.items()}
        for sample in samples:
            stages, held = self._stages(sample.terms, sample.facts)
            total = START_NS + float(stages.sum())
            error = float(np.log(total) - np.log(max(sample.measured_ns, 1.0)))
            loss += error**2 / len(samples)
            slope = 1.0 - (held["bounded"] / BOUND) ** 2
            back = 2 * error / total / len(samples) * held["parts"] * slope
            gradient["second"] += held["hidden"].T @ back
            gradient["second_bias"] += back.sum(axis=0)
            inner = (back @ self.weights["second"].T) * (held["hidden"] > 0)
            gradient["first"] += held["inputs"].T @ inner
            gradient["first_bias"] += inner.sum(axis=0)
        return loss, gradient

    def fit(
        self,
        samples: Sequence[Sample],
        *,
        epochs: int = 200,
        rate: float = 3e-3,
        decay: float = 1e-4,
        batch: int = 64,
        seed: int = 0,
    ) -> list[float]:
        """Train in place with Adam on mini-batches.

        Args:
            samples: measured schedules; [] changes nothing.
            epochs: passes over them.
            rate: step size.
            decay: pull of the weights towards 0, i.e. towards the nominal coefficients.
            batch: samples a step.
            seed: of the order.

        Returns:
            Loss after each pass.
        """
        losses: list[float] = []
        state = {k: (np.zeros_like(w), np.zeros_like(w)) for k, w in self.weights.items()}
        step = 0
        for order in _orders(len(samples), epochs, seed):
            total = 0.0
            for begin in range(0, len(order), batch):
                chosen = [samples[i] for i in order[begin : begin + batch]]
                loss, gradient = self.loss_and_gradient(chosen)
                total += loss * len(chosen)
                step += 1
                for name, (mean, square) in state.items():
                    slope = gradient[name] + decay * self.weights[name]
                    mean += 0.1 * (slope - mean)
                    square += 0.001 * (slope**2 - square)
                    fixed = mean / (1 - 0.9**step)
                    self.weights[name] -= rate * fixed / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
            losses.append(total / len(samples))
        return losses

    def copy(self) -> CostModel:
        """One that may be fine-tuned without changing this one."""
        return CostModel({k: w.copy() for k, w in self.weights.items()}, dict(self.provenance))

    def save(self, path: Path) -> None:
        """Write the model; numbers with four significant digits, so that the file stays small."""
        data = {
            "format": FORMAT,
            "terms": list(TERMS),
            "provenance": self.provenance,
            "weights": {name: _short(weights) for name, weights in self.weights.items()},
        }
        path.write_text(json.dumps(data) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path) -> CostModel:
        """Read a model.

        Raises:
            ValueError: not a model, or one of other terms.
        """
        data: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if data.get("format") != FORMAT or data.get("terms") != list(TERMS):
            raise ValueError(f"{path} is no {FORMAT} over the {len(TERMS)} terms of this version: train one anew")
        fresh = CostModel.untrained()
        weights = {k: np.array(data["weights"][k]).reshape(w.shape) for k, w in fresh.weights.items()}
        return CostModel(weights, dict(data["provenance"]))


def _short(weights: np.ndarray) -> list[list[float]]:
    return [[float(f"{v:.4g}") for v in row] for row in np.atleast_2d(weights)]


def _orders(count: int, epochs: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    for _ in range(epochs if count else 0):
        yield rng.permutation(count)


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Rank correlation; 0 for fewer than two values or constant ones."""
    if len(first) < 2:
        return 0.0
    ranks = [np.argsort(np.argsort(np.array(v), kind="stable"), kind="stable").astype(float) for v in (first, second)]
    centred = [r - r.mean() for r in ranks]
    size = float(np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum()))
    return float((centred[0] * centred[1]).sum() / size) if size else 0.0
