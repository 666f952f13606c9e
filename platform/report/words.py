"""Records in sentences: statuses, reasons for an end, verdicts, failures and the headline of a run.

Owns the wording that reports, tables and the replay share. A headline claims nothing that its interval does not show.
It returns plain text that may hold strangers' words; renderers escape it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from kernelwright.records import Decision, Depth, Evaluation, Failure, Ratio, RunSummary, Status
from kernelwright.records.wording import WHATEVER
from kernelwright.report.figures import format_count, format_factor, format_ratio, short_id
from kernelwright.report.run_records import RunRecords

STATUS_WORDS: dict[Status, str] = {
    Status.PASSED: "passed",
    Status.WRONG_SHAPE: "wrong shape",
    Status.WRONG_DTYPE: "wrong dtype",
    Status.WRONG_VALUES: "wrong values",
    Status.NONFINITE: "not finite",
    Status.COMPILE_ERROR: "no build",
    Status.RUNTIME_ERROR: "crashed",
    Status.TIMEOUT: "timed out",
    Status.OUT_OF_MEMORY: "out of memory",
    Status.UNSTABLE: "unstable",
    Status.CHEATED: "cheated",
    Status.IMPLAUSIBLE: "implausible",
    Status.POLICY: "not allowed",
    Status.REFERENCE_BROKEN: "broken task",
    Status.UNJUDGED: "unjudged",
}
REASON_WORDS: dict[str, str] = {
    "target": "the target was reached",
    "budget": "the budget was spent",
    "budget: time": "the time budget was spent",
    "budget: measurements": "the measurement budget was spent",
    "budget: rounds": "the last round was done",
    "budget: candidates": "the limit of candidates was reached",
    "budget: money": "the money for models was spent",
    "budget: tokens": "the tokens for models were spent",
    "no-progress": "further rounds brought nothing",
    "floor": "the machine's floor was reached",
    "interrupted": "interrupted",
    "nothing-left": "nothing was left to try",
    "nothing-fits": "nothing in the library fitted",
    "error": "an error ended it",
}
BASELINE_WORDS: dict[str, str] = {
    "eager": "torch in eager mode",
    "compile": "torch.compile",
    "compile-max": "torch.compile with max-autotune",
    "onednn": "torch's oneDNN module",
    "cuda-graph": "torch's max-autotuned module as a CUDA graph",
    "start-O2": "the start kernel at -O2",
    "start-O3": "the start kernel at -O3 -march=native",
}
Tone = Literal["good", "neutral", "bad"]


@dataclass(frozen=True)
class Headline:
    """What a reader learns if he reads one sentence."""

    text: str
    tone: Tone
    notes: tuple[str, ...] = ()
    """What qualifies it; each a sentence."""


def status_words(evaluation: Evaluation | None) -> str:
    """How a judgement ended, in one or two words, with its depth where that is too shallow to claim."""
    if evaluation is None:
        return "not made"
    return STATUS_WORDS[evaluation.status]


def reason_words(reason: str) -> str:
    """Why a run ended, in words; an unknown reason as it stands."""
    kind = "no-progress" if reason.startswith("no progress") else reason.partition(": ")[0]
    return REASON_WORDS.get(reason) or (REASON_WORDS[kind] if kind in ("floor", "no-progress") else reason)


def baseline_words(name: str) -> str:
    """A baseline by the name people know; a candidate id becomes ``candidate 1a2b3c4d``."""
    return BASELINE_WORDS.get(name, f"candidate {short_id(name)}")


def contestant(name: str) -> str:
    """A baseline's own name, or the short id of a candidate: what a speed-up is over, in a table."""
    return name if name in BASELINE_WORDS else short_id(name)


def failure_words(failure: Failure) -> str:
    """What failed, where and by how much, in a line; what the message says already is not said again."""
    parts, said = [failure.message], failure.message
    place = [f"workload {failure.workload}"] if failure.workload and f"workload {failure.workload}" not in said else []
    place += [f"inputs {failure.family}"] if failure.family and f"{failure.family} inputs" not in said else []
    if (failure.got is not None or failure.expected is not None) and "got " not in said:
        index = f" at [{', '.join(map(str, failure.index))}]" if failure.index else ""
        parts.append(f"got {_value(failure.got)}, expected {_value(failure.expected)}{index}")
    return "; ".join([*parts, *([", ".join(place)] if place else [])])


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def headline(records: RunRecords) -> Headline:
    """The run in one honest sentence, with what qualifies it."""
    summary = records.summary
    if summary.best_candidate is None:
        told = _without_best(records)
        return replace(told, notes=(*told.notes, precedent_words(summary)))
    evaluation = records.best_evaluation
    ratio = summary.best or (evaluation.speedup if evaluation else None)
    if ratio is None:
        passed = f"Candidate {short_id(summary.best_candidate)} passed, but no time is on record."
        return Headline(passed, "neutral", (precedent_words(summary),))
    confirmed = records.claimed is not None
    sentence, tone = _compared(ratio)
    notes = _qualifications(records, evaluation, confirmed=confirmed)
    return Headline(sentence, tone if confirmed else "neutral", notes)


def _compared(ratio: Ratio) -> tuple[str, Tone]:
    over = baseline_words(ratio.against)
    factor, _, bounds = format_ratio(ratio).partition(" ")
    figures = f"95 % interval {bounds.strip('[]').replace(', ', ' to ')}"
    if not ratio.shown:
        return f"No difference shown from the best baseline, {over}: {factor}, {figures}.", "neutral"
    if ratio.value > 1:
        return f"{factor} speed-up over the best baseline, {over}; {figures}.", "good"
    return f"Nothing faster was found: the best candidate reaches {factor} the speed of {over}; {figures}.", "bad"


def _qualifications(records: RunRecords, evaluation: Evaluation | None, *, confirmed: bool) -> tuple[str, ...]:
    summary, notes = records.summary, []
    if not confirmed:
        notes.append(f"Not confirmed: {_unconfirmed(evaluation)}, so nothing is claimed yet.")
    if evaluation is not None:
        for note in evaluation.static_notes:  # what a look at the sources showed is advice to the reader
            notes.append(f"{'Timed with host code' if note.endswith(WHATEVER) else 'The judge notes'}: {note}.")
    if evaluation is not None and evaluation.regressed:
        notes.append(f"Slower than the best baseline on {', '.join(evaluation.regressed)}.")
    if len(records.task.workloads) > 1:
        notes.append(f"Weighted geometric mean over {format_count(len(records.task.workloads), 'workload')}.")
    if reduced := [w.name for w in records.task.workloads if w.reduced]:
        notes.append(f"Shapes are smaller than the original benchmark's: {', '.join(reduced)}.")
    if summary.state == "running":
        notes.append("The run has not ended.")
    elif summary.reason:
        ended = f"The run ended because {reason_words(summary.reason)}."
        notes.append("The run was interrupted." if summary.reason == "interrupted" else ended)
    return (*notes, precedent_words(summary))


def _unconfirmed(evaluation: Evaluation | None) -> str:
    if evaluation is not None and evaluation.depth is Depth.CONFIRMED and evaluation.failure is not None:
        return evaluation.failure.message
    return "it was not re-measured in fresh processes"


def precedent_words(summary: RunSummary) -> str:
    """Whether a precedent for this very task was recalled: every report says so, whatever came of the run."""
    if summary.same_task_precedent:
        return "A solution made for this very task was recalled from the library."
    return "No solution made for this very task was recalled."


def _without_best(records: RunRecords) -> Headline:
    summary = records.summary
    if summary.reason == "nothing-fits":
        near = f"Nearest: {', '.join(summary.nearest)}." if summary.nearest else "Nothing in the library comes near."
        model = (
            "A language model would add what search cannot: it can write a kernel from the reference itself, "
            "instead of adapting one that exists."
        )
        return Headline("Nothing in the library fits this task, so no candidate was made.", "bad", (near, model))
    if summary.state == "running":
        return Headline("Nothing has passed yet; the run has not ended.", "neutral")
    failures = ", ".join(f"{STATUS_WORDS[Status(name)]} {count}x" for name, count in records.failures().most_common(4))
    tried = format_count(summary.candidates, "candidate")
    if summary.state == "failed":
        return Headline(f"The run failed after {tried}: {reason_words(summary.reason)}.", "bad")
    if not failures and not summary.candidates:
        return Headline(f"No candidate was judged: {reason_words(summary.reason or 'the run ended early')}.", "neutral")
    return Headline(f"No candidate passed: {tried} tried" + (f" ({failures})." if failures else "."), "bad")


def prediction_words(predicted: float | None, measured: Ratio | None) -> str:
    """Prediction beside measurement: ``Predicted 1.30x, measured 1.36x [1.34, 1.38]``."""
    told = f"Predicted {format_factor(predicted)}" if predicted is not None else "No prediction"
    return f"{told}, measured {format_ratio(measured)}" if measured is not None else f"{told}, not measured"


def lesson(decision: Decision, evaluation: Evaluation | None) -> str:
    """What a decision taught; "" where the sentence only repeats the numbers or the failure shown beside it."""
    failure = evaluation.failure.message if evaluation is not None and evaluation.failure else ""
    if decision.measured is not None and f"measured {format_factor(decision.measured.value)}" in decision.learned:
        return ""
    return "" if failure and decision.learned.endswith(failure) else decision.learned
