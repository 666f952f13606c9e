"""What is wrong with a file that a person wrote: a record's complaints in words, each with its field.

Owns the wording. It must not know what is validated.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from kernelwright.errors import LibraryError
from kernelwright.records.record import Record

R = TypeVar("R", bound=Record)

MOST = 4
"""Mistakes told at once: later ones often follow from the first."""


def validated(kind: type[R], fields: dict[str, Any], file: Path) -> R:
    """The record that a file's fields make.

    Raises:
        LibraryError: they make none; file and fields are named.
    """
    try:
        return kind.from_json(fields)
    except ValidationError as error:
        raise LibraryError(f"{file}: {explained(error, kind)}") from None
    except ValueError as error:
        raise LibraryError(f"{file}: field format: {error}") from None


def explained(error: ValidationError, kind: type[Record]) -> str:
    """The first mistakes, each with its field."""
    told = []
    for item in error.errors()[:MOST]:
        where = ".".join(str(step) for step in item["loc"])
        what = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            near = difflib.get_close_matches(str(item["loc"][-1]), list(kind.model_fields), n=1)
            what = "unknown key" + (f", did you mean {near[0]!r}?" if near else "")
        elif item["type"] == "missing":
            what = "is missing"
        told.append(f"field {where}: {what}" if where else f"field {what}")
    return "; ".join(told)
