"""How people steer a run: notes typed while it goes on, a start from another run's candidate, changes of a plan.

Owns what becomes of their words; where they come from (a terminal, a page) is the caller's business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.errors import WorkspaceError
from kernelwright.records import Candidate, Decision
from kernelwright.workspace import RunFolder, append_line, now

NOTE_CHARACTERS = 2000
DROPPED = "dropped by the user"


def add_note(folder: RunFolder, text: str) -> None:
    """Leave a note for the next planner and coder of a run; safe while the run goes on."""
    text = " ".join(text.split())[:NOTE_CHARACTERS]
    if text:
        line = {"format": "kernelwright/note/1", "at": now(), "text": text}
        append_line(folder.notes_file, json.dumps(line, ensure_ascii=False))


def notes(folder: RunFolder) -> list[str]:
    """A run's notes, oldest first; a torn line is left out."""
    try:
        lines = folder.notes_file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise WorkspaceError(f"cannot read {folder.notes_file}: {error.strerror}") from None
    found = []
    for line in lines:
        try:
            found.append(str(json.loads(line)["text"]))
        except (ValueError, KeyError, TypeError):
            continue
    return found


def wishes(hint: str, folder: RunFolder) -> str:
    """The hint and all notes as one text for the roles."""
    return "\n".join(f"- {text}" for text in [hint, *notes(folder)] if text.strip())


def start_decision(candidate: Candidate, origin: str) -> Decision:
    """The first decision of a run that starts from another run's candidate.

    Args:
        candidate: what it starts from; already stored in the run.
        origin: ``RUN:CANDIDATE``, for the record.
    """
    return Decision(
        technique="given-start",
        summary=f"Start from {origin}",
        where="whole kernel",
        parameters={"candidate": candidate.id},
        hypothesis="the user brought it",
        source="user",
        round=1,
    )


def given_start(decision: Decision) -> str:
    """Id of the candidate that a decision of :func:`start_decision` brings; "" for any other."""
    return str(decision.parameters.get("candidate", "")) if decision.technique == "given-start" else ""


def plan_as_data(decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """A plan as what is shown to people and comes back from them."""
    return [
        {
            "id": d.id,
            "technique": d.technique,
            "summary": d.summary,
            "where": d.where,
            "parameters": d.parameters,
            "predicted_speedup": d.predicted_speedup,
            "parent": d.parent,
        }
        for d in decisions
    ]


def changed_plan(
    decisions: Sequence[Decision], wanted: Sequence[Mapping[str, Any]], *, round_: int, best: str | None
) -> tuple[list[Decision], list[Decision]]:
    """A plan after people's changes.

    Args:
        decisions: as planned.
        wanted: what shall be done, in order: entries of :func:`plan_as_data`, changed or not; one without a known id
            is new and needs a summary.
        round_: the round.
        best: what new decisions start from; None means the reference.

    Returns:
        The decisions to carry out, and those dropped, with a verdict that says so.
    """
    by_id = {d.id: d for d in decisions}
    kept: list[Decision] = []
    for entry in wanted:
        planned = by_id.get(str(entry.get("id", "")))
        changes = {
            k: entry[k] for k in ("technique", "summary", "where", "parameters", "predicted_speedup") if k in entry
        }
        if planned is not None:
            same = all(getattr(planned, k) == v for k, v in changes.items())
            kept.append(planned if same else planned.model_copy(update={**changes, "source": "user"}))
        elif str(entry.get("summary", "")).strip():
            told = {"technique": "user-idea", "parent": best, **changes}
            kept.append(Decision(source="user", round=round_, **told))
    ids = {d.id for d in kept}
    dropped = [d.model_copy(update={"verdict": "neutral", "learned": DROPPED}) for d in decisions if d.id not in ids]
    return kept, dropped
