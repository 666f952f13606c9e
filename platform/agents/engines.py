"""Which engine plays which role: those of ``search`` become ``llm`` or ``hybrid`` where that is configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec

from kernelwright.agents.context import Roles
from kernelwright.agents.hybrid import HybridCoder, HybridPlanner
from kernelwright.agents.llm.desk import ModelDesk, RoleModel
from kernelwright.agents.llm.exchange import Provider
from kernelwright.agents.llm.prompt_book import PromptBook, SeedPrompts
from kernelwright.agents.llm.providers import open_provider
from kernelwright.agents.llm_coder import ModelCoder
from kernelwright.agents.llm_planner import ModelPlanner
from kernelwright.agents.llm_reflector import ModelReflector
from kernelwright.config import RunConfig
from kernelwright.errors import ConfigError, MissingTool
from kernelwright.records import Entry

CONFIGURED_AS = {"planner": "planner", "coder": "coder", "repairer": "coder", "reflector": "reflector"}
"""Role of a call -> whose model it uses."""


def with_models(search: Roles, config: RunConfig, book: PromptBook | None = None) -> Roles:
    """The roles as configured.

    Args:
        search: the roles of engine ``search``.
        config: engines and models.
        book: gives the prompts; None means the seeds.

    Raises:
        ConfigError: an unknown model, a missing key, no language that a model can write.
        MissingTool: dspy or openai is not installed.
    """
    engines = {role: config.engine_of(role) for role in ("planner", "coder", "reflector")}
    if set(engines.values()) == {"search"}:
        return search
    if find_spec("dspy") is None:
        hint = "pip install 'kernelwright[llm]'"
        raise MissingTool("engines llm and hybrid need the package dspy", hint=hint)
    desk = open_desk(config)
    book = book or SeedPrompts()
    blind = not config.profile
    coder = ModelCoder(desk, book, blind=blind)
    made = replace(search, models=desk, repairer=coder if engines["coder"] != "search" else None)
    if engines["planner"] != "search":
        space = search.space if engines["planner"] == engines["coder"] == "hybrid" else None  # search carries them out
        planner = ModelPlanner(desk, book, writable_languages(config), blind=blind, space=space)
        made.planner = planner if engines["planner"] == "llm" else HybridPlanner(planner, search.planner)
    if engines["coder"] != "search":
        made.coder = coder if engines["coder"] == "llm" else HybridCoder(coder, search.coder, desk.tell)
    if engines["reflector"] != "search":
        made.reflector = ModelReflector(desk, book, search.reflector, blind=blind)
    return made


def open_desk(config: RunConfig) -> ModelDesk:
    """The desk with the model of every role that has one; roles of one model share its provider.

    Raises:
        ConfigError: an unknown model or a missing key.
    """
    opened: dict[tuple[str, str, str], Provider] = {}
    models: dict[str, RoleModel] = {}
    for role, configured in CONFIGURED_AS.items():
        if config.engine_of(configured) == "search":
            continue
        chosen = config.model_of(configured)
        key = (chosen.model, chosen.base_url, chosen.api_key_env)
        if key not in opened:
            opened[key] = open_provider(
                chosen.model, base_url=chosen.base_url, api_key_env=chosen.api_key_env, stream=config.models.stream
            )
        models[role] = RoleModel(chosen.model, opened[key])
    return ModelDesk(models, config.models, config.budget)


def writable_languages(config: RunConfig) -> list[str]:
    """The configured languages that a model can write: those whose candidates are sources, not schedules.

    Raises:
        ConfigError: there is none.
    """
    from kernelwright.toolexec.languages import LANGUAGES, language

    entries: Mapping[str, str] = {n.value: language(n.value).entry for n in config.languages if n.value in LANGUAGES}
    found = [name for name, entry in entries.items() if entry != Entry.PIPELINE.value]
    if not found:
        names = ", ".join(entries) or "none"
        raise ConfigError(f"a model can write none of the languages {names}", hint="add one with -l cpp")
    return found
