"""RunConfig: every option of a run, from configs/default.yaml, overlays and ``a.b=c`` overrides.

Owns the option names and their validation; unknown keys are refused with the nearest known one. It starts nothing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from kernelwright.errors import ConfigError, UnknownName
from kernelwright.records import LanguageName

OPEN_MAPPINGS = frozenset({"models.prices"})
"""Options whose keys are the user's."""

BaselineName = Literal["eager", "compile", "compile-max", "onednn", "start"]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BudgetConfig(_Section):
    """Limits of a run; reaching any of them ends it cleanly with the best so far."""

    seconds: float = Field(gt=0)
    """Wall time of the whole run, over all its sessions."""
    measurements: int = Field(gt=0)
    """Judged or screened candidates, tuning trials included."""
    rounds: int = Field(gt=0)
    candidates: int = Field(ge=0)
    """Candidates judged, tuning apart; 0 means no limit."""
    cost_usd: float = Field(ge=0)
    """Money for models; 0 means no limit. Needs known prices."""
    tokens: int = Field(ge=0)
    """Tokens of models, in and out together; 0 means no limit."""


class SearchConfig(_Section):
    """How the search engine goes about it."""

    strategy: Literal["chain", "beam", "islands"]
    """Where a model's round starts from: the best, the ``width`` best, or the best of each language and technique."""
    width: int = Field(gt=0, le=16)
    """Parents of one round in ``beam`` and ``islands``."""
    decisions_per_round: int = Field(gt=0, le=64)
    patience: int = Field(gt=0)
    """Rounds without progress before the run ends."""
    tune_measurements: int = Field(ge=0)
    """Trials for one candidate's tunables; 0 means no tuning."""
    tune_seconds: float = Field(gt=0)
    schedule_measurements: int = Field(ge=0)
    """Searched schedules screened for one pipeline, out of ``tune_measurements``; 0 means schedules are left alone."""


class LibraryConfig(_Section):
    """What is recalled, and from where."""

    recall: bool
    """False: plan without precedents."""
    exclude_same_task: bool
    """True: solutions made for this very task are not recalled."""
    limit: int = Field(gt=0)
    team: str
    """Folder of solutions that a team shares; "" means none. The user's shelf goes before it, the shipped one after."""
    index: bool
    """False: entries are ranked by structure and words alone, without vectors."""
    embedding: str
    """``minilm``, which is installed, or the name or folder of any model of sentence-transformers."""
    server: str
    """``host:port`` of a Chroma server (`chroma run`); "" means embedded in the workspace."""


class JudgeConfig(_Section):
    """What the judge may spend."""

    baselines: tuple[BaselineName, ...] = Field(min_length=1)
    timeout_s: float = Field(gt=0)
    build_timeout_s: float = Field(gt=0)
    memory_limit_gib: float = Field(ge=0)
    """Address space of a worker; 0 means no limit."""
    require_sandbox: Literal["rlimits", "landlock", "bubblewrap"]
    """The lowest tier of sandbox to judge in; ``rlimits`` means any."""
    confirm: bool
    """False: a run ends with the full judgement; nothing is claimed or offered to the library then."""
    counters: Literal["auto", "on", "off"]
    """Count instructions and cache misses of what is profiled; ``auto``: where a model reads them."""


class PriceConfig(_Section):
    """USD for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    """Of input that the provider had cached; None means as ``input``."""


class RoleModelConfig(_Section):
    """The model of one role; "" everywhere means as the others."""

    model: str
    base_url: str
    """Set, it brings its own ``api_key_env``: a key is never sent to another server than it was configured for."""
    api_key_env: str


class ModelsConfig(_Section):
    """Language models: which, where, and what a call may take. Keys are never in a configuration."""

    model: str
    """``openai/NAME``, ``relay:DIR``, ``scripted:FILE``; "" means none."""
    base_url: str
    """Of any OpenAI-compatible server; "" means OpenAI's own."""
    api_key_env: str
    """Name of the variable that holds the key; servers on this machine need none."""
    planner: RoleModelConfig
    coder: RoleModelConfig
    reflector: RoleModelConfig
    temperature: float | None
    """None means as the provider likes."""
    stream: bool
    """False: ask for the answer in one piece."""
    max_output_tokens: int = Field(gt=0)
    planner_tokens: int = Field(ge=2000)
    """Most tokens of a planner's prompt; what does not fit is left out, and said."""
    coder_tokens: int = Field(ge=2000)
    """Most tokens of a coder's or repairer's prompt."""
    reflector_tokens: int = Field(ge=2000)
    timeout_s: float = Field(gt=0)
    """One attempt at one call. ``relay`` waits as long as the run has time."""
    retries: int = Field(ge=0)
    """Further attempts after a fault that may pass: 429, 5xx, timeouts, broken connections."""
    retry_pause_s: float = Field(ge=0)
    """Before the first of these; doubled each time, unless the server says how long."""
    format_retries: int = Field(ge=0)
    """How often an answer that cannot be used is asked for again, with what was wrong."""
    concurrency: int = Field(gt=0, le=64)
    """Decisions of a round that are written at the same time; judging is one at a time whatever this says."""
    repairs: int = Field(ge=0)
    """How often a candidate that the judge refused is repaired; 0 means never."""
    distill: bool
    """True: when a run has ended, the coder's model reads the finished runs and proposes lessons: one call more."""
    store_prompts: bool
    """False: calls/ holds no prompts, only their hashes."""
    prices: dict[str, PriceConfig]
    """Model's name or pattern -> its price; goes before the shipped table."""


class EnginesConfig(_Section):
    """The engine of single roles; "" means as ``engine``."""

    planner: Literal["", "search", "llm", "hybrid"]
    coder: Literal["", "search", "llm", "hybrid"]
    reflector: Literal["", "search", "llm", "hybrid"]


class Target(BaseModel):
    """When to stop early: a latency or a speed-up."""

    model_config = ConfigDict(frozen=True)

    latency_us: float | None = None
    speedup: float | None = None


class RunConfig(_Section):
    """All options of a run."""

    engine: Literal["auto", "search", "llm", "hybrid"]
    """``search`` needs no model; ``llm`` plans and writes with one; ``hybrid`` does both, and search refines what the
    model wrote. ``auto`` is ``hybrid`` where a model is configured, else ``search``."""
    engines: EnginesConfig
    languages: tuple[LanguageName, ...] = Field(min_length=1)
    device: str
    """Short name of a Device."""
    executor: Literal["local", "ray"]
    """Where candidates are judged: processes of this machine, or a Ray cluster (extra ``ray``)."""
    threads: int = Field(gt=0)
    """Threads a kernel may use; the same for every contestant."""
    seed: int = Field(ge=0)
    hint: str
    """A wish of the user that a model's planner and coder read."""
    interactive: bool
    """True: every plan is shown to the user, who may change it."""
    lessons: bool
    """False: prompts show no lessons of earlier runs."""
    profile: bool
    """False: nothing is profiled, and models see right or wrong alone: no time, ratio or bottleneck of this run."""
    target: str
    """``0.3ms``, ``250us``, ``2x``; "" means none."""
    budget: BudgetConfig
    search: SearchConfig
    library: LibraryConfig
    judge: JudgeConfig
    models: ModelsConfig

    @model_validator(mode="after")
    def _engines_have_what_they_need(self) -> RunConfig:
        with_model = [role for role in ("planner", "coder", "reflector") if self.engine_of(role) != "search"]
        lacking = [role for role in with_model if not self.model_of(role).model]
        if lacking:
            raise ValueError(f"the engine of {', '.join(lacking)} needs a model: set models.model, e.g. openai/NAME")
        if "planner" in with_model and "coder" not in with_model:
            raise ValueError("a model's plans need a model to write them: engines.coder must be llm or hybrid")
        return self

    @property
    def counts(self) -> bool:
        """Are instructions and misses counted when a candidate is profiled?"""
        read = any(self.engine_of(role) != "search" for role in ("planner", "coder", "reflector"))
        return self.profile and (self.judge.counters == "on" or (self.judge.counters == "auto" and read))

    def engine_of(self, role: str) -> str:
        """``search``, ``llm`` or ``hybrid``."""
        named = getattr(self.engines, role) or self.engine
        if named != "auto":
            return str(named)
        return "hybrid" if self.model_of(role).model else "search"

    def model_of(self, role: str) -> RoleModelConfig:
        """The model of a role and where it is reached; ``model`` is "" where none is configured."""
        own: RoleModelConfig = getattr(self.models, role)
        url, key = (own.base_url, own.api_key_env) if own.base_url else (
            self.models.base_url, own.api_key_env or self.models.api_key_env
        )
        return RoleModelConfig(model=own.model or self.models.model, base_url=url, api_key_env=key)

    @field_validator("target")
    @classmethod
    def _target_is_readable(cls, text: str) -> str:
        parse_target(text)
        return text


_UNITS_US = {"s": 1e6, "ms": 1e3, "us": 1.0, "µs": 1.0, "ns": 1e-3}


def parse_target(text: str) -> Target:
    """``0.3ms`` -> a latency, ``2x`` -> a speed-up, "" -> neither.

    Raises:
        ValueError: neither form, or not above zero.
    """
    if not text.strip():
        return Target()
    match = re.fullmatch(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*(x|s|ms|us|µs|ns)\s*", text)
    try:
        number = float(match.group(1)) if match else 0.0
    except ValueError:
        number = 0.0
    if match is None or number <= 0:
        raise ValueError(f"target {text!r} is neither a latency such as 0.3ms nor a speed-up such as 2x")
    if match.group(2) == "x":
        return Target(speedup=number)
    return Target(latency_us=number * _UNITS_US[match.group(2)])


def default_values() -> dict[str, Any]:
    """The content of the shipped default.yaml."""
    text = resources.files("kernelwright").joinpath("configs/default.yaml").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    assert isinstance(data, dict)
    return data


def load_config(
    *, files: Iterable[Path] = (), overrides: Iterable[str] = (), values: Mapping[str, Any] | None = None
) -> RunConfig:
    """Defaults, then overlay files, then ``a.b=c`` overrides, then ``values`` (dotted keys, already typed).

    Raises:
        ConfigError: an unreadable file, an unknown key (the nearest known one is named) or an invalid value.
    """
    data = default_values()
    for file in files:
        _merge(data, _read_overlay(file), origin=str(file))
    for text in overrides:
        key, separator, value = text.partition("=")
        if not separator:
            raise ConfigError(f"override {text!r} is not of the form a.b=c")
        try:
            parsed = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"override {text!r}: the value is not YAML ({error})") from None
        _set(data, key.strip(), parsed if parsed is not None else "", origin=f"override {text!r}")
    for key, value in (values or {}).items():
        _set(data, key, value, origin="option")
    return config_from(data)


def stored_config(data: Mapping[str, Any] | None) -> RunConfig:
    """The configuration that a run was begun with; options that did not exist then have their defaults.

    Raises:
        ConfigError: it holds an option that does not exist any more, or an invalid value.
    """
    values = default_values()
    _merge(values, data or {}, origin="the run's config.yaml")
    return config_from(values)


def config_from(data: Mapping[str, Any]) -> RunConfig:
    """Validate a complete set of values.

    Raises:
        ConfigError: with every field that is wrong.
        UnknownName: an unknown language.
    """
    known = [name.value for name in LanguageName]
    languages = data.get("languages")
    for name in languages if isinstance(languages, (list, tuple)) else ():
        if name not in known:
            raise UnknownName("language", str(name), known)
    for name in (data.get("judge") or {}).get("baselines") or ():
        if name not in get_args(BaselineName):
            raise UnknownName("baseline", str(name), get_args(BaselineName))
    try:
        return RunConfig.model_validate(data)
    except ValidationError as error:
        lines = [
            f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']} (got {e['input']!r})" for e in error.errors()
        ]
        raise ConfigError("invalid configuration: " + "; ".join(lines)) from None


def _read_overlay(file: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read configuration {file}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration {file} is not YAML: {error}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"configuration {file} must be a mapping, found {type(data).__name__}")
    return data


def _merge(data: dict[str, Any], overlay: Mapping[str, Any], *, origin: str, prefix: str = "") -> None:
    for key, value in overlay.items():
        dotted = f"{prefix}{key}"
        if isinstance(value, dict) and isinstance(data.get(str(key)), dict) and dotted not in OPEN_MAPPINGS:
            _merge(data[str(key)], value, origin=origin, prefix=f"{dotted}.")
        elif str(key) not in data:
            raise _unknown(dotted, origin)
        else:
            data[str(key)] = value


def _set(data: dict[str, Any], dotted: str, value: Any, *, origin: str) -> None:
    *parents, last = dotted.split(".")
    place: Any = data
    for part in parents:
        place = place.get(part) if isinstance(place, dict) else None
    if not isinstance(place, dict) or last not in place:
        raise _unknown(dotted, origin)
    if isinstance(place[last], dict) and dotted not in OPEN_MAPPINGS:
        raise ConfigError(f"{origin}: {dotted} is a section; name one of {', '.join(place[last])}")
    place[last] = value


def known_keys(data: Mapping[str, Any] | None = None, prefix: str = "") -> list[str]:
    """All option names, dotted."""
    keys: list[str] = []
    for key, value in (default_values() if data is None else data).items():
        keys += (
            known_keys(value, f"{prefix}{key}.")
            if isinstance(value, dict) and f"{prefix}{key}" not in OPEN_MAPPINGS
            else [f"{prefix}{key}"]
        )
    return keys


def _unknown(dotted: str, origin: str) -> ConfigError:
    known = known_keys()
    near = difflib.get_close_matches(dotted, known, n=1, cutoff=0.0)
    return ConfigError(
        f"unknown configuration key {dotted!r} ({origin})",
        hint=f"did you mean {near[0]!r}? all keys are in configs/default.yaml",
    )
