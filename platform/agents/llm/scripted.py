"""Answers from a file, for tests and demonstrations: ``scripted:FILE``.

FILE is YAML or JSON: a list of entries, each a text, or ``{role: coder, text: ..., finish: length, input_tokens: 10,
output_tokens: 5}``, or ``{fault: rate-limit}``. An entry with a role answers that role only; each is used once, in
order. Used entries are those of calls already answered, so a resumed run goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from kernelwright.agents.llm.exchange import Answer, ModelFault, Question, Usage
from kernelwright.errors import ConfigError

_AGAIN = frozenset({"rate-limit", "server", "connection", "timeout", "broken-stream"})


class ScriptedProvider:
    """A model that says what a file says.

    Args:
        file: the script.
    """

    name = "scripted"
    waits_for_people = False

    def __init__(self, file: Path) -> None:
        try:
            entries = yaml.safe_load(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"cannot read the script {file}: {error.strerror}") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ConfigError(f"the script {file} is not YAML: {error}") from None
        if not isinstance(entries, list):
            raise ConfigError(f"the script {file} must be a list of answers")
        self._entries: list[dict[str, Any]] = [e if isinstance(e, dict) else {"text": str(e)} for e in entries]
        self._used: set[int] = set()

    def skip(self, role: str, answered: int) -> None:
        """Leave out the first entries of a role: a resumed run has had their answers."""
        fitting = [i for i, e in enumerate(self._entries) if e.get("role", role) == role]
        self._used |= set(fitting[:answered])

    def ask(self, question: Question) -> Answer:
        """The next entry for the role that the question's name ends with."""
        role = question.name.rpartition(".")[2]
        for index, entry in enumerate(self._entries):
            if index in self._used or entry.get("role", role) != role:
                continue
            self._used.add(index)
            if fault := entry.get("fault"):
                raise ModelFault(str(fault), f"scripted fault: {fault}", again=fault in _AGAIN, wait_s=0.0)
            text = str(entry.get("text", ""))
            counted = Usage(entry.get("input_tokens"), entry.get("output_tokens"), entry.get("cached_tokens"))
            return Answer(text, str(entry.get("finish", "stop")), counted, model="script")
        raise ModelFault("no-answer", f"the script has no further answer for the {role}", again=False)

    def secrets(self) -> Sequence[str]:
        """None."""
        return ()
