"""Builders for tests of the desk: a desk on given providers, bound to a run that records what it is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.agents.llm.desk import ModelDesk, RoleModel, RunLink
from kernelwright.agents.llm.exchange import Provider
from kernelwright.agents.llm.providers import open_provider
from kernelwright.config import load_config

KEY = "sk-test-0123456789abcdefghij"


@dataclass
class Run:
    """A run as the desk sees it."""

    calls: Path
    told: list[tuple[str, str]] = field(default_factory=list)
    left_s: float = 60.0
    stopped: bool = False

    def link(self) -> RunLink:
        return RunLink("run1", self.calls, lambda: self.left_s, lambda: self.stopped, self._emit)

    def _emit(self, kind: str, message: str = "", **data: Any) -> None:
        self.told.append((kind, message))


def a_desk(
    run: Run,
    provider: Provider,
    *,
    model: str = "openai/tiny",
    roles: tuple[str, ...] = ("planner", "coder", "repairer", "reflector"),
    **options: Any,
) -> ModelDesk:
    """A desk whose roles all have one provider; ``options`` are dotted keys of the configuration with __ for dots."""
    given = {
        "models.model": model,
        "models.retry_pause_s": 0.0,
        "models.retries": 2,
        "models.base_url": "http://127.0.0.1:1/v1",
    }
    config = load_config(values={**given, **{k.replace("__", "."): v for k, v in options.items()}})
    desk = ModelDesk({role: RoleModel(model, provider) for role in roles}, config.models, config.budget)
    desk.bind(run.link())
    return desk


def openai_at(base_url: str, *, stream: bool = True, env: str = "TEST_KEY") -> Provider:
    """The openai provider on a server of the test."""
    return open_provider("openai/tiny", base_url=base_url, api_key_env=env, stream=stream)
