"""The named switches of ablations: options of optimize and suite, and the words of `suite ablate`'s arms.

Owns which option of the configuration a switch stands for. Each says what is taken away, so that a result can name it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from kernelwright.errors import ConfigError

EngineOption = Annotated[str | None, typer.Option("--engine", help="Who plans and writes: search, llm or hybrid.")]
LanguageOption = Annotated[
    list[str] | None, typer.Option("--language", "-l", help="Languages to use. Repeatable.")
]
ModelOption = Annotated[
    str | None, typer.Option("--model", "-m", help="openai/NAME, relay:DIR or scripted:FILE; makes the engine hybrid.")
]
NoLibraryOption = Annotated[bool, typer.Option("--no-library", help="Plan without precedents.")]
NoLessonsOption = Annotated[bool, typer.Option("--no-lessons", help="Prompts without the lessons of earlier runs.")]
NoProfileOption = Annotated[
    bool, typer.Option("--no-profile", help="Models see right or wrong alone: no times, ratios or bottlenecks.")
]
ExcludeSameTaskOption = Annotated[
    bool, typer.Option("--exclude-same-task", help="Recall no solution that was made for this very task.")
]


def switches(
    *,
    engine: str | None = None,
    model: str | None = None,
    language: list[str] | None = None,
    no_library: bool = False,
    no_lessons: bool = False,
    no_profile: bool = False,
    exclude_same_task: bool = False,
) -> dict[str, Any]:
    """The options of the configuration that the switches stand for; what is not asked for is left out."""
    values: dict[str, Any] = {}
    if engine is not None:
        values["engine"] = engine
    if model is not None:
        values["models.model"] = model
    if language:
        values["languages"] = language
    if no_library:
        values["library.recall"] = False
    if no_lessons:
        values["lessons"] = False
    if no_profile:
        values["profile"] = False
    if exclude_same_task:
        values["library.exclude_same_task"] = True
    return values


def arms_of(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """``bare="--no-library --no-profile"`` as an arm's options.

    Raises:
        ConfigError: not of the form NAME=SWITCHES, a name twice, an unknown switch, or fewer than two arms.
    """
    import yaml

    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, separator, words = text.partition("=")
        if not separator or not name.strip():
            raise ConfigError(f"arm {text!r} is not of the form NAME=SWITCHES", hint='e.g. --arm bare="--no-library"')
        if name.strip() in found:
            raise ConfigError(f"two arms are called {name.strip()!r}")
        try:
            found[name.strip()] = _parsed(text, shlex.split(words))
        except (ValueError, yaml.YAMLError) as error:
            raise ConfigError(f"arm {text!r} cannot be read: {error}") from None
    if len(found) < 2:
        raise ConfigError("an ablation needs at least two arms", hint='e.g. --arm full= --arm bare="--no-library"')
    return found


def _parsed(arm: str, words: list[str]) -> dict[str, Any]:
    """The switches of one arm, by the same names as on the command line."""
    import yaml

    names = ("no_library", "no_lessons", "no_profile", "exclude_same_task")
    flags = {"--" + name.replace("_", "-"): name for name in names}
    given: dict[str, Any] = {}
    more: dict[str, Any] = {}
    rest = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    while rest:
        word = rest.pop(0)
        if word in flags:
            given[flags[word]] = True
        elif word in ("--engine", "--model", "-m", "--language", "-l", "-o", "--option") and rest:
            value = rest.pop(0)
            if word == "--engine":
                given["engine"] = value
            elif word in ("--model", "-m"):
                given["model"] = value
            elif word in ("--language", "-l"):
                given.setdefault("language", []).append(value)
            else:
                key, _, text = value.partition("=")
                more[key] = yaml.safe_load(text)
        else:
            known = ", ".join([*flags, "--language L", "--engine E", "--model M", "-o a.b=c"])
            raise ConfigError(f"arm {arm!r}: {word!r} is no switch", hint=f"known: {known}")
    return {**switches(**given), **more}
