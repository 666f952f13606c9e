"""A candidate's sources as they were measured: tuned values written into the text, tuning trials in words, differences.

Owns how an author reads a tuned candidate: what is shown is what was measured, and edits are made of what is shown.
It runs and stores nothing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from kernelwright.records import Candidate, SourceFile, Trial

SHOWN_TRIALS = 16
WORTH_A_DIFFERENCE = 0.6
"""A difference longer than this part of the sources is not shown: the sources are then."""


def as_tuned(candidate: Candidate) -> Candidate:
    """The candidate with its tunables' values as the defaults of its text, so that text and measurement agree."""
    files = tuple(SourceFile(path=f.path, text=_with_values(f.text, candidate)) for f in candidate.files)
    return candidate if files == candidate.files else candidate.model_copy(update={"files": files})


def _with_values(text: str, candidate: Candidate) -> str:
    for tunable in candidate.tunables:
        name, value = re.escape(tunable.name), str(tunable.value).replace("\\", r"\\")
        declared = rf"^([ \t]*(?://|#)[ \t]*tunable[ \t]+{name}[ \t]*=[ \t]*)(\S+)(?=[ \t]+in[ \t]+\{{)"
        default = rf"^([ \t]*#[ \t]*ifndef[ \t]+{name}[ \t]*\n[ \t]*#[ \t]*define[ \t]+{name}[ \t]+)(\S+)"
        for pattern in (declared, default):
            text = re.sub(pattern, rf"\g<1>{value}", text, flags=re.MULTILINE)
    return text


def tuning_text(candidate_id: str, trials: Sequence[Trial]) -> str:
    """What the tuner tried on the way to a candidate, best first; "" when it tried nothing.

    Args:
        candidate_id: the candidate at its best values, or as it was written.
        trials: of the whole run.
    """
    base = next((t.base_id for t in trials if t.candidate_id == candidate_id), candidate_id)
    mine = {t.candidate_id: t for t in trials if t.base_id == base}
    ranked = sorted(mine.values(), key=lambda t: -(t.score or 0.0))
    if not ranked:
        return ""
    lines = ["Tuning (values -> screened speed-up over the best baseline; a quick measurement, for comparing these):"]
    for trial in ranked[:SHOWN_TRIALS]:
        values = ", ".join(f"{k}={v}" for k, v in trial.values.items()) or "as written"
        told = f"{trial.score:.2f}x" if trial.score is not None else str(trial.status)
        lines.append(f"- {values} -> {told}{' <- taken' if trial.candidate_id == candidate_id else ''}")
    left = len(ranked) - SHOWN_TRIALS
    return "\n".join([*lines, f"({left} slower ones left out)"] if left > 0 else lines)


def difference(candidate: Candidate, base: Candidate) -> str:
    """A unified difference from ``base`` to ``candidate``, both as tuned; "" when it would not be much shorter."""
    old = {f.path: f.text for f in as_tuned(base).files}
    new = {f.path: f.text for f in as_tuned(candidate).files}
    parts: list[str] = []
    for path in sorted({*old, *new}):
        before, after = old.get(path, "").splitlines(), new.get(path, "").splitlines()
        parts += difflib.unified_diff(before, after, f"{base.id[:8]}/{path}", f"{candidate.id[:8]}/{path}", lineterm="")
    text = "\n".join(parts)
    return text if len(text) < WORTH_A_DIFFERENCE * sum(map(len, new.values())) else ""
