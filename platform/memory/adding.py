"""Adding by hand: a folder that is an entry already, or a kernel's file with the few facts that it cannot tell itself.

Owns what is derived and what must be asked for. It parses; nothing of the file is run.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from kernelwright.errors import LibraryError
from kernelwright.memory.library import Library, Proposal
from kernelwright.memory.solution_files import SOLUTION_FILE, load_solution
from kernelwright.records import (
    Candidate,
    Decision,
    Entry,
    Provenance,
    Review,
    ReviewState,
    Rung,
    Solution,
    Task,
)
from kernelwright.tasks.candidate_files import load_candidate
from kernelwright.workspace import now

_SPDX = re.compile(r"SPDX-License-Identifier:\s*([^\n*]+)")
_COMMENT = r"(?im)^\s*(?://|#|\*|/\*)\s*"
_AUTHOR = re.compile(_COMMENT + r"(?:@?author|written by)[:\s]+(.+?)\s*(?:\*/)?$")
_SOURCE = re.compile(_COMMENT + r"(?:source|from|see)[:\s]+(\S.+?)\s*(?:\*/)?$")
_ARCHITECTURE = re.compile(r"\bsm_(\d+[af]?)\b")


@dataclass(frozen=True)
class Told:
    """What a person says about a kernel; "" means: derive it, or ask."""

    id: str = ""
    title: str = ""
    description: str = ""
    family: str = ""
    source: str = ""
    author: str = ""
    licence: str = ""
    technique: str = ""
    architecture: str = ""


QUESTIONS: Mapping[str, str] = {
    "description": "What does it compute, and when should it be used? One or two sentences",
    "family": "Which family of work is it (softmax, matmul, stencil, ...)",
    "source": "Where do technique and code come from",
    "author": "Who wrote it",
    "licence": "Under which licence (SPDX, e.g. Apache-2.0)",
}
"""Field -> what is asked when it can be derived from nothing."""


def add(library: Library, path: Path, told: Told, *, task: Task | None = None) -> Proposal:
    """Put a file or folder on the user's shelf, in state proposed.

    Args:
        library: where it goes.
        path: a folder with solution.yaml, or a kernel as ``evaluate`` takes it.
        told: what the person says.
        task: the task that the kernel is for; family, operators and dtypes follow from it.

    Raises:
        LibraryError: facts are missing that cannot be derived, or the entry is broken.
        CandidateError: the file is no kernel.
    """
    if (path / SOLUTION_FILE).is_file():
        return library.propose(load_solution(path))
    missing = unanswered(path, told, task=task)
    if missing:
        options = " ".join(f"--{name} ..." for name in missing)
        raise LibraryError(f"{path}: it does not tell its {', '.join(missing)}", hint=f"add {options}")
    return library.propose(drafted(path, told, task=task))


def unanswered(path: Path, told: Told, *, task: Task | None = None) -> list[str]:
    """The facts that must still be asked for.

    Raises:
        CandidateError: the file is no kernel.
    """
    if (path / SOLUTION_FILE).is_file():
        return []
    known = _derived(load_candidate(path), path, task)
    return [name for name in QUESTIONS if not getattr(told, name).strip() and not known.get(name)]


def drafted(path: Path, told: Told, *, task: Task | None = None) -> Solution:
    """A kernel as a solution of one rung."""
    candidate = load_candidate(path)
    known = _derived(candidate, path, task) | {
        f.name: getattr(told, f.name).strip() for f in fields(told) if getattr(told, f.name).strip()
    }
    technique = known.get("technique") or "as-given"
    decision = Decision(technique=technique, summary=f"{known['description'].split('. ')[0].rstrip('.')}.")
    rung = Rung(name="as-given", decision=decision, candidate=candidate, not_measured="not yet measured by the judge")
    return Solution(
        id=known["id"],
        title=known.get("title") or known["id"].replace("-", " "),
        description=known["description"],
        family=known["family"],
        task=task.name if task is not None else "",
        language=candidate.language,
        entry=candidate.entry,
        architecture=known.get("architecture") or "any",
        torch_ops=task.torch_ops if task is not None else (),
        dtypes=tuple(dict.fromkeys(i.dtype for i in task.inputs)) if task is not None else (),
        rungs=(rung,),
        provenance=Provenance(author=known["author"], source=known["source"], created=now()[:10]),
        licence=known["licence"],
        review=Review(state=ReviewState.PROPOSED, reason="added by hand; not yet reviewed"),
        origin="user",
    )


def _derived(candidate: Candidate, path: Path, task: Task | None) -> dict[str, str]:
    """What file and task tell by themselves."""
    text = "\n".join(f.text for f in candidate.files if f.path == candidate.entry_file) or candidate.files[0].text
    slug = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "kernel"
    known = {"id": slug if slug.startswith(candidate.language.value) else f"{candidate.language.value}-{slug}"}
    for name, pattern in (("licence", _SPDX), ("author", _AUTHOR), ("source", _SOURCE)):
        if found := pattern.search(text):
            known[name] = found.group(1).strip()
    if found := _ARCHITECTURE.search(" ".join(candidate.flags)):
        known["architecture"] = f"sm_{found.group(1)}"
    if description := _opening_words(text, module=candidate.entry is Entry.MODULE):
        known["description"] = description
    if task is not None:
        known["family"] = task.family if task.family != "unknown" else ""
        known.setdefault("description", task.description)
    return {name: value for name, value in known.items() if value}


def _opening_words(text: str, *, module: bool) -> str:
    """The prose at the top of a file: a docstring, or comment lines that are no directive."""
    if module:
        found = re.match(r'\s*(?:#[^\n]*\n|\s)*[rR]?("""|\'\'\')(.*?)\1', text, re.DOTALL)
        return " ".join(found.group(2).split()) if found else ""
    lines = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(("//", "/*", "*")):
            words = stripped.lstrip("/* ").removesuffix("*/").strip()
            if not re.match(r"(?:SPDX|tunable|flags:|@?author|source|copyright|compile|run)\b", words, re.IGNORECASE):
                lines.append(words)
        elif stripped or lines:
            break
    return " ".join(" ".join(lines).split())


def remove(library: Library, id: str) -> None:
    """Delete an entry from the user's shelf; what it hid is seen again.

    Raises:
        LibraryError: it stands on another shelf.
    """
    solution = library.get(id)
    if solution.origin != "user":
        raise LibraryError(f"{id} stands on the {solution.origin} shelf", hint=f"kernelwright library retire {id}")
    shutil.rmtree(library.folder(id))
