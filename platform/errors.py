"""The tree of exceptions. A failed candidate is data (an Evaluation); a broken set-up is one of these.

KernelwrightError                code       exit
├── UserError                    user       2   the input or the command is wrong
│   ├── ConfigError              config         unknown or invalid configuration
│   ├── TaskError                task           missing, unparsable or unfit task
│   ├── CandidateError           candidate      a file that cannot be made into a candidate
│   ├── UnknownName              unknown-name   a language, run, command ... that does not exist
│   ├── WorkspaceError           workspace      unreadable, read-only, full, or of a newer format
│   └── LibraryError             library        a broken library entry
├── ReferenceBroken              reference  2   the reference raises, is not finite or not deterministic
├── MissingTool                  missing    3   the machine lacks something that was asked for
├── ModelError                   model      3   a language model could not be asked; the run can be resumed
└── JudgeError                   judge      3   the judge itself could not work (no memory, no processes)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KernelwrightError(Exception):
    """Root of all errors that kernelwright raises on purpose.

    Args:
        message: what is wrong, with which file or value.
        hint: what to do next; "" when there is nothing to add.
    """

    code = "error"
    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UserError(KernelwrightError):
    """The command or its input is wrong."""

    code = "user"


class ConfigError(UserError):
    """The configuration holds an unknown key or an invalid value."""

    code = "config"


class TaskError(UserError):
    """A task is missing, cannot be parsed, or is unfit to be judged."""

    code = "task"


class CandidateError(UserError):
    """A file or folder cannot be made into a candidate."""

    code = "candidate"


class WorkspaceError(UserError):
    """The workspace cannot be used."""

    code = "workspace"


class LibraryError(UserError):
    """A library entry is broken."""

    code = "library"


class ReferenceBroken(KernelwrightError):
    """The task's reference raises, gives NaN, or does not give the same twice."""

    code = "reference"


class MissingTool(KernelwrightError):
    """The machine lacks a tool that the command cannot do without."""

    code = "missing"
    exit_code = 3


class ModelError(KernelwrightError):
    """A language model could not be asked: no key, no such model, no connection after all retries."""

    code = "model"
    exit_code = 3


class JudgeError(KernelwrightError):
    """The judge itself could not work."""

    code = "judge"
    exit_code = 3


class UnknownName(UserError):
    """A name is not among the known ones.

    Args:
        kind: what the name should have named, e.g. ``language``.
        name: what was asked for.
        known: the known names; the nearest are suggested.
    """

    code = "unknown-name"

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        listed = ", ".join(known[:40]) + (" ..." if len(known) > 40 else "")
        super().__init__(f"unknown {kind} {name!r}", hint=f"{hint}known: {listed or 'none'}")
