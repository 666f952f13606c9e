"""The base of every record: frozen, closed to unknown fields, with a stated format in every JSON file."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict


def write_whole(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all, even after a power cut.

    Raises:
        OSError: it cannot be written; nothing of it is left then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())  # else the name could be on the disk with nothing in it
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def content_hash(value: Any, *, length: int = 16) -> str:
    """Hash of a JSON-able value: SHA-256 over its canonical JSON, first ``length`` hex digits."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:length]


class Record(BaseModel):
    """A frozen value. ``FORMAT`` is the kind that its JSON file carries as ``kernelwright/<kind>/<version>``."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    FORMAT: ClassVar[str] = ""
    FORMAT_VERSION: ClassVar[int] = 1

    @classmethod
    def format_name(cls) -> str:
        """The format string of this kind of file, e.g. ``kernelwright/task/1``."""
        return f"kernelwright/{cls.FORMAT or cls.__name__.lower()}/{cls.FORMAT_VERSION}"

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON values with its ``format`` first."""
        return {"format": self.format_name(), **self.model_dump(mode="json")}

    def to_line(self) -> str:
        """The record as one line of JSON, for ``.jsonl`` files."""
        # ASCII: readers end lines at U+2028, U+2029 and U+0085 too, and lone surrogates are no UTF-8.
        return json.dumps(self.to_json())

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read the form that :meth:`to_json` wrote.

        Raises:
            ValueError: the format is another kind, or newer than this version can read, or a field is wrong
                (pydantic's ValidationError is a ValueError).
        """
        data = dict(data)
        found = data.pop("format", cls.format_name())
        kind, _, version = str(found).rpartition("/")
        if kind != cls.format_name().rpartition("/")[0] or not version.isdigit():
            raise ValueError(f"expected format {cls.format_name()}, found {found}")
        if int(version) > cls.FORMAT_VERSION:
            raise ValueError(
                f"format {found} is newer than this kernelwright reads ({cls.format_name()}); upgrade kernelwright"
            )
        return cls.model_validate(data)

    def save(self, path: Path) -> None:
        """Write the record as JSON; the file appears whole or not at all."""
        write_whole(path, json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a record from a JSON file.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no JSON, another kind, newer, or a field is wrong.
        """
        return cls.from_json(json.loads(path.read_text(encoding="utf-8")))
