"""optimizations/<id>/: what an optimization kept, and its way into the lineage of the role.

One folder an optimization: plan, journal, the runs of its trials. The same command goes on with a killed one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.promptopt.optimizer import Draft, Optimized, Proposal
from kernelwright.promptopt.versions import PromptStore
from kernelwright.records import Lesson, PromptVersion, content_hash

LATE = ("held_out", "remeasured")
"""Parts on which the end of an optimization is compared with its start, whatever came between."""


@dataclass(frozen=True)
class Plan:
    """What makes two optimizations the same: asked again, the same one goes on."""

    role: str
    base: str
    lessons: tuple[str, ...]
    tasks: tuple[str, ...]
    trials: int
    seed: int
    engine: str
    """Optimizer and model."""

    @property
    def id(self) -> str:
        """Its name."""
        said = {**vars(self), "lessons": list(self.lessons), "tasks": list(self.tasks)}
        return f"{self.role}-{content_hash(said, length=8)}"


def session_folder(root: Path, plan: Plan) -> Path:
    """The folder of an optimization, with its plan written down.

    Args:
        root: the workspace's folder of optimizations.
        plan: what was asked for.
    """
    folder = root / plan.id
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "plan.json"
    if not file.exists():
        file.write_text(json.dumps({"format": "kernelwright/prompt-plan/1", **vars(plan)}, indent=2) + "\n")
    return folder


def keep_proposals(store: PromptStore, found: Optimized, *, session: str, parent: str) -> PromptVersion | None:
    """Every proposal as a version, accepted or rejected; the best is promoted where it passed all gates.

    What a limit left undecided is kept by the journal alone, with what came after it: the same plan goes on with it.

    Args:
        store: of the role.
        found: what the optimization came to.
        session: its id.
        parent: version that it started from.

    Returns:
        The version that is now in use because of it, or None.
    """
    made: dict[str, PromptVersion] = {}
    for proposal in found.proposals:
        if proposal.undecided:
            break
        before = made.get(proposal.parent.text)
        version = _version(store, proposal, session=session, parent=before.id if before else parent, start=parent)
        made[proposal.draft.text] = version
    best = made.get(found.best.text)
    if not found.promoted or best is None:
        return None
    gain = found.gain
    told = "" if gain is None else f"{gain.gain:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] re-measured on held-out tasks"
    if store.lineage.current != best.id:
        store.promote(best.id, reason=told or "the optimizer's best", by=f"optimizer {session}")
    return best


def draft_of(store: PromptStore, lessons: Sequence[Lesson]) -> Draft:
    """The prompt in use as a draft: its base text, and the lessons of its role that are active."""
    version = store.current or store.started()
    base = store.base(version.id) if version is not None else ""
    return Draft(base.strip(), tuple(x for x in lessons if store.role in x.roles))


def _version(store: PromptStore, proposal: Proposal, *, session: str, parent: str, start: str) -> PromptVersion:
    late = {"against": start} if parent != start else {}
    scores = [s.model_copy(update=late) if s.split in LATE else s for s in proposal.scores]
    more = {
        "state": "accepted" if proposal.accepted else "rejected",
        "rejected_because": proposal.rejected_because,
        "feedback": proposal.feedback[:2000],
        "session": session,
        "scores": tuple(scores),
    }
    draft = proposal.draft
    base = draft.base or "(empty)"
    return store.add(base, draft.lessons, parent=parent, origin="optimizer", reason=proposal.reason, more=more)
