"""Files that a model wrote -> Candidate: names, entry, flags and tunables, checked. It executes nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import ValidationError

from kernelwright.agents.llm.edits import apply_edits
from kernelwright.agents.llm.exchange import BadAnswer
from kernelwright.agents.llm.parsing import FileBlock, Parsed
from kernelwright.records import Candidate, Entry, LanguageName, SourceFile
from kernelwright.tasks.candidate_files import MAX_FILE_BYTES, declared_tunables

ENTRY_NAMES = {"c": "kw_run", "module": "ModelNew"}
"""Entry -> the name that its file must define."""
OWN_HEADERS = frozenset({"kernelwright.h"})
"""Given to every candidate; a model's copy of them is left out."""
_FLAGS = re.compile(r"^\s*//\s*flags:\s*(.+)$", re.MULTILINE)
_GPU = frozenset({"cuda", "cute", "thunderkittens"})
_LAUNCH = r"|^\s*//\s*launch:"
"""GPU candidates may say their launches as data instead of defining the entry."""


def default_file(language: str, entry: str) -> str:
    """The name of a source that the model did not name."""
    if entry == "module":
        return "model_new.py"
    return "kernel.cu" if language in _GPU else "kernel.cpp"


def candidate_of(parsed: Parsed, *, language: str, entry: str, parent: Candidate | None) -> Candidate:
    """The candidate that an answer describes.

    Args:
        parsed: files, or edits of the parent's files; whole files of the same names go before edits.
        language: short name of the language asked for.
        entry: that language's entry.
        parent: whose sources edits are of; None when it starts from the reference.

    Raises:
        BadAnswer: neither, no entry, no change, a broken declaration.
    """
    texts = _texts(parsed, language, entry, parent)
    wanted = ENTRY_NAMES[entry]
    form = rf"\b{wanted}\b" + (_LAUNCH if language in _GPU else "")
    holding = [
        name
        for name, text in texts.items()
        if re.search(form, text, re.MULTILINE) and not name.endswith((".h", ".cuh", ".hpp"))
    ]
    if not holding:
        raise BadAnswer(f"None of the files ({', '.join(texts) or 'none'}) defines {wanted}, which the guide asks for.")
    if parent is not None and {f.path: f.text for f in parent.files} == texts:
        raise BadAnswer("The sources are the same as those to start from: carry the decision out.")
    main = holding[0]
    flags = tuple(f for text in texts.values() for line in _FLAGS.findall(text) for f in line.split())
    try:
        return Candidate(
            language=LanguageName(language),
            entry=Entry(entry),
            files=tuple(SourceFile(path=name, text=text) for name, text in sorted(texts.items())),
            entry_file=main,
            flags=tuple(dict.fromkeys(flags)) if entry == "c" else (),
            tunables=declared_tunables(texts[main]),
        )
    except (ValidationError, ValueError) as error:
        said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise BadAnswer(f"The answer is no valid candidate: {said}") from None


def _texts(parsed: Parsed, language: str, entry: str, parent: Candidate | None) -> dict[str, str]:
    """File name -> text, after edits."""
    given = {f.path or default_file(language, entry): f.text for f in _own(parsed.files)}
    if not parsed.edits:
        if not given:
            raise BadAnswer("The answer holds neither a file in a fenced block nor an edit.")
        texts = given
    else:
        base = {f.path: f.text for f in parent.files} if parent is not None else {}
        if not base and not given:
            raise BadAnswer("There are no sources to edit: give every file whole.")
        texts = apply_edits({**base, **given}, parsed.edits)
    for name, text in texts.items():
        if len(text.encode("utf-8", "replace")) > MAX_FILE_BYTES // 10:
            raise BadAnswer(f"{name} is too long for a kernel.")
    return texts


def _own(files: Sequence[FileBlock]) -> list[FileBlock]:
    return [f for f in files if f.path not in OWN_HEADERS]
