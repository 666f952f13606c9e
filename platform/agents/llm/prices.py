"""What a call costs: the shipped, dated table (knowledge/prices.yaml) and the configuration's own prices.

An unknown price is None and stays None in every sum: it is never taken for 0.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from kernelwright.agents.llm.exchange import Usage
from kernelwright.errors import ConfigError

PER = 1_000_000
"""Prices are for so many tokens."""


@dataclass(frozen=True)
class Price:
    """USD for a million tokens."""

    input_usd: float
    output_usd: float
    cached_usd: float
    """Of input tokens that the provider read from its cache."""
    source: str
    """``configuration``, or the table with the date on which the price was read."""

    def cost_usd(self, usage: Usage) -> float | None:
        """USD of a call; None when its tokens are not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        fresh = usage.input_tokens - cached
        total = fresh * self.input_usd + cached * self.cached_usd + usage.output_tokens * self.output_usd
        return total / PER


FREE = Price(0.0, 0.0, 0.0, "no provider is paid")


class PriceTable:
    """Prices by model name.

    Args:
        own: the configuration's ``models.prices``: name or pattern -> ``{input, output, cached}``; these go first.
    """

    def __init__(self, own: Mapping[str, Mapping[str, float]]) -> None:
        self._own = {name: _price(name, values, "configuration") for name, values in own.items()}

    def find(self, model: str) -> Price | None:
        """The price of a model by its full name, its name without provider, or a pattern; None when unknown."""
        names = [model, model.rpartition("/")[2]]
        for table in (self._own, shipped_prices()):
            for name in names:
                if name in table:
                    return table[name]
            for pattern, price in table.items():
                if any(fnmatch.fnmatchcase(name, pattern) for name in names):
                    return price
        return None


@cache
def shipped_prices() -> dict[str, Price]:
    """The table that comes with kernelwright."""
    text = resources.files("kernelwright").joinpath("knowledge/prices.yaml").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    told = f"shipped table, read on {data['read_on']}"
    return {str(name): _price(str(name), values, told) for name, values in data["models"].items()}


def _price(name: str, values: Mapping[str, Any], source: str) -> Price:
    try:
        given, made = float(values["input"]), float(values["output"])
        cached = float(values.get("cached", given))
    except (KeyError, TypeError, ValueError, AttributeError):
        hint = "e.g. models.prices: {my-model: {input: 0.2, output: 0.8, cached: 0.02}}"
        raise ConfigError(
            f"the price of {name!r} needs `input` and `output`, USD for a million tokens", hint=hint
        ) from None
    if min(given, made, cached) < 0:
        raise ConfigError(f"the price of {name!r} is below 0")
    return Price(given, made, cached, source)
