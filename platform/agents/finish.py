"""The end of a run: confirm the winner, write best/, the report and run.json, offer the winner to the library."""

from __future__ import annotations

from kernelwright.agents.context import RunContext
from kernelwright.agents.offering import solution_of
from kernelwright.agents.state import RunState
from kernelwright.errors import LibraryError
from kernelwright.records import Candidate, Depth, Entry, Evaluation, LanguageName, SourceFile, Status
from kernelwright.workspace import now

CONFIRM_AT_MOST = 3
"""How many of the best candidates are put to the confirmed judgement before the run gives up on a claim."""


def finish_run(context: RunContext, state: RunState) -> None:
    """Confirm, export, report, offer. An interrupted run skips the confirmation and says so."""
    ending = state.get("ending") or "finished"
    winner, evaluation = _confirm(context, state)
    if winner is not None and evaluation is not None:
        _write_best(context, winner, evaluation)
    interrupted = context.stop.is_set()
    context.update(state="stopped" if interrupted else "finished", reason=ending, ended_at=now())
    if winner is not None and evaluation is not None and not interrupted:
        if (
            evaluation.depth is Depth.CONFIRMED
            and evaluation.speedup is not None
            and evaluation.speedup.low > 1.0
        ):
            _offer(context, winner, evaluation)
    context.emit("end", _last_words(context, evaluation), reason=ending)
    context.write_report(context.folder)


def _offer(context: RunContext, winner: Candidate, evaluation: Evaluation) -> None:
    """Offer the winner to the library; a shelf that cannot be written costs the offer, not the run."""
    try:
        context.emit("library", context.offer(solution_of(context, winner, evaluation)))
    except LibraryError as error:
        context.emit("warning", f"not offered to the library: {error.message}")


def _ranked(context: RunContext, state: RunState) -> list[str]:
    """Candidates that count, fastest first by their most thorough judgement."""
    scores: dict[str, float] = {}
    for judged in state.get("judged", []):
        if judged["candidate"] is None:
            continue
        evaluation = context.best_evaluation(judged["candidate"])
        if evaluation is not None and context.counts(evaluation) and evaluation.speedup is not None:
            scores[judged["candidate"]] = evaluation.speedup.surely
    return sorted(scores, key=lambda c: -scores[c])


def _confirm(context: RunContext, state: RunState) -> tuple[Candidate | None, Evaluation | None]:
    """The best candidate that holds under the confirmed judgement; unconfirmed when interrupted."""
    ranked = _ranked(context, state)
    if not ranked:
        context.update(best_candidate=None, best=None, best_latency_us={}, confirmed=None)
        return None, None
    context.update(confirmed=False)
    if context.stop.is_set():
        best = context.folder.candidate(ranked[0])
        return best, context.best_evaluation(ranked[0])
    if not context.config.judge.confirm:
        return _unconfirmed(context, ranked[0])
    for candidate_id in ranked[:CONFIRM_AT_MOST]:
        candidate = context.folder.candidate(candidate_id)
        context.emit("confirm", "confirming in fresh processes", candidate=candidate_id)
        evaluation = context.evaluate(candidate, Depth.CONFIRMED)
        if context.counts(evaluation):
            latencies = {w.workload: w.latency_us.median for w in evaluation.workloads if w.latency_us}
            told = {"best_candidate": candidate_id, "best": evaluation.speedup, "best_latency_us": latencies}
            context.update(**told, confirmed=True)
            return candidate, evaluation
        why = evaluation.failure.message if evaluation.failure else "it regresses where the task forbids it"
        context.emit("warning", f"not confirmed ({evaluation.status}): {why}", candidate=candidate_id)
        if evaluation.status is Status.UNSTABLE and (full := context.stored(candidate_id, Depth.FULL)) is not None:
            return candidate, full  # the machine's fault: the best stays the best so far, and is not claimed
        if context.stop.is_set():
            break
    context.update(best_candidate=None, best=None, best_latency_us={}, confirmed=None)
    return None, None


def _unconfirmed(context: RunContext, candidate_id: str) -> tuple[Candidate, Evaluation | None]:
    """The best by its full judgement, where the user wants no confirmation."""
    evaluation = context.best_evaluation(candidate_id)
    assert evaluation is not None, "what is ranked was judged"
    latencies = {w.workload: w.latency_us.median for w in evaluation.workloads if w.latency_us}
    context.update(best_candidate=candidate_id, best=evaluation.speedup, best_latency_us=latencies)
    return context.folder.candidate(candidate_id), evaluation


def _write_best(context: RunContext, winner: Candidate, evaluation: Evaluation) -> None:
    """best/: model_new.py, the sources, the record and the verdict."""
    folder = context.folder
    for file in winner.files:
        folder.write_text(folder.best / "sources" / file.path, file.text)
    folder.save(winner, folder.best / "candidate.json")
    folder.save(evaluation, folder.best / "evaluation.json")
    text = context.session.export(winner)
    folder.write_text(folder.best / "model_new.py", text)
    if winner.entry is Entry.MODULE or context.stop.is_set() or not context.config.judge.confirm:
        return
    exported = Candidate(
        language=LanguageName.TORCH,
        entry=Entry.MODULE,
        files=(SourceFile(path="model_new.py", text=text),),
        entry_file="model_new.py",
    )
    verdict = context.evaluate(exported, Depth.SCREEN)
    if not verdict.passed:
        why = verdict.failure.message if verdict.failure else ""
        context.emit("warning", f"best/model_new.py does not pass by itself ({verdict.status}): {why}")


def _last_words(context: RunContext, evaluation: Evaluation | None) -> str:
    """How the run ended, in a sentence."""
    if evaluation is None or evaluation.speedup is None:
        if context.summary.candidates == 0 and context.summary.reason.startswith(("budget", "interrupted")):
            return f"no candidate was judged ({context.summary.reason}): give it more, e.g. --budget 300"
        nearest = ", ".join(context.summary.nearest) or "none"
        if context.roles.models is not None:
            return f"no candidate holds. Nearest precedents: {nearest}. `runs show` has what the judge refused, and why"
        return (
            f"no candidate holds. Nearest precedents: {nearest}. A model would add: kernels written for this "
            "operation, where the search engine can only adapt what the library holds or the pipeline import covers"
        )
    ratio = evaluation.speedup
    claim = f"{ratio.value:.2f}x [{ratio.low:.2f}, {ratio.high:.2f}] over {ratio.against}"
    if evaluation.depth is not Depth.CONFIRMED:
        return f"best so far {claim}, not confirmed"
    return f"confirmed {claim}" if ratio.shown else f"no difference shown: {claim}"
