"""Citation: a public source that a page of knowledge names."""

from __future__ import annotations

from pydantic import Field

from kernelwright.records.record import Record


class Citation(Record):
    """Where a statement comes from. Ideas and figures are cited; sentences and code are never copied."""

    id: str = Field(default="", pattern=r"^[a-z0-9\-]*$")
    """Short name by which figures on the same page refer to it; "" where nothing does."""
    title: str = Field(min_length=3)
    """What it is, as its publisher calls it."""
    url: str = Field(pattern=r"^https?://\S+\.\S+$")
    """Where it can be read."""
