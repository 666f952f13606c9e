"""``openai/NAME``, ``relay:DIR``, ``scripted:FILE`` -> a provider. The only place that knows their names."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from kernelwright.agents.llm.exchange import Provider
from kernelwright.errors import ConfigError

FORMS = "openai/NAME (any OpenAI-compatible server, see models.base_url), relay:DIR, scripted:FILE"


def open_provider(model: str, *, base_url: str, api_key_env: str, stream: bool) -> Provider:
    """The provider of a configured model.

    Args:
        model: ``openai/NAME``, ``relay:DIR`` or ``scripted:FILE``.
        base_url: of the OpenAI-compatible server; "" means OpenAI's own.
        api_key_env: name of the variable that holds the key.
        stream: ask for the answer in pieces.

    Raises:
        ConfigError: no such form, no name, or a key that is not there.
        MissingTool: the ``openai`` package is not installed.
    """
    if model.startswith("relay:") and model != "relay:":
        from kernelwright.agents.llm.relay import RelayProvider

        return RelayProvider(Path(model.removeprefix("relay:")).expanduser().absolute())
    if model.startswith("scripted:") and model != "scripted:":
        from kernelwright.agents.llm.scripted import ScriptedProvider

        return ScriptedProvider(Path(model.removeprefix("scripted:")).expanduser().absolute())
    if model.startswith("openai/") and model != "openai/":
        from kernelwright.agents.llm.openai_compatible import OpenAICompatible

        return OpenAICompatible(
            model.removeprefix("openai/"), base_url=base_url, api_key_env=api_key_env, stream=stream
        )
    raise ConfigError(f"unknown model {model!r}", hint=f"known forms: {FORMS}")


def is_local(base_url: str) -> bool:
    """True for a server on this machine, which needs no key."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
