"""Candidate: files, one entry, flags, language, architecture and tunables. Its id hashes exactly these."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, model_validator

from kernelwright.records.record import Record, content_hash
from kernelwright.records.status import Entry, LanguageName

TunableValue = int | float | str


class SourceFile(Record):
    """One file of a candidate."""

    path: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.\-]*$")
    """A plain file name: candidates are flat folders, so that no path can lead outside."""
    text: str


class Tunable(Record):
    """A named choice that the tuner may make: for ``c`` entries a ``-DNAME=value``, for modules a module constant,
    for pipelines a value that Directives name as ``$NAME``."""

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    values: tuple[TunableValue, ...] = Field(min_length=1)
    """The domain, finite and in order."""
    value: TunableValue
    """The chosen one; must be in ``values``."""

    @model_validator(mode="after")
    def _value_in_domain(self) -> Tunable:
        if self.value not in self.values:
            raise ValueError(f"tunable {self.name}: {self.value!r} is not one of {list(self.values)}")
        return self


class Candidate(Record):
    """One way to do a task's work."""

    FORMAT: ClassVar[str] = "candidate"

    language: LanguageName
    entry: Entry
    files: tuple[SourceFile, ...] = Field(min_length=1)
    entry_file: str
    """The file that holds the entry."""
    flags: tuple[str, ...] = ()
    """Extra compiler flags; a Language refuses those that reach outside the sources."""
    architecture: str = "native"
    """CPU or GPU architecture; ``native`` means the machine at hand."""
    tunables: tuple[Tunable, ...] = ()

    @model_validator(mode="after")
    def _entry_file_exists(self) -> Candidate:
        names = [f.path for f in self.files]
        if len(set(names)) != len(names):
            raise ValueError(f"candidate has two files of one name: {names}")
        if self.entry_file not in names:
            raise ValueError(f"entry file {self.entry_file!r} is not among {names}")
        return self

    @property
    def id(self) -> str:
        """Content hash of files, entry, flags, language, architecture and tunables."""
        return content_hash(self.model_dump(mode="json"))

    def text(self, path: str) -> str:
        """The text of one file.

        Raises:
            KeyError: no such file.
        """
        for file in self.files:
            if file.path == path:
                return file.text
        raise KeyError(path)

    def with_tunables(self, values: dict[str, TunableValue]) -> Candidate:
        """The same candidate at other tunable values.

        Raises:
            ValueError: a value outside its domain, or an unknown name.
        """
        unknown = set(values) - {t.name for t in self.tunables}
        if unknown:
            raise ValueError(f"unknown tunables {sorted(unknown)}")
        new = tuple(
            Tunable(name=t.name, values=t.values, value=values.get(t.name, t.value)) for t in self.tunables
        )
        return self.model_copy(update={"tunables": new})

    def tunable_values(self) -> dict[str, Any]:
        """Name -> chosen value."""
        return {t.name: t.value for t in self.tunables}
