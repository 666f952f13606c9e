"""The LangGraph workflow: prepare -> planner -> coder -> profiler -> reflector -> (planner | finish).

Nodes are short: they read and write the run's files through RunContext and pass ids and numbers on. Coders fan out with
Send; each hands its child to a profiler of its own; the judge itself takes one candidate at a time.
"""

from __future__ import annotations

import json
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt

from kernelwright.agents.context import RunContext
from kernelwright.agents.finish import finish_run
from kernelwright.agents.knowledge import evaluation_of, for_coder, knowledge_of
from kernelwright.agents.likeness import fingerprint
from kernelwright.agents.llm.desk import LimitReached
from kernelwright.agents.profiler import against_parent
from kernelwright.agents.repairing import judge_with_repairs
from kernelwright.agents.state import Judged, OneCandidate, OneDecision, RunState
from kernelwright.agents.steering import changed_plan, given_start, plan_as_data
from kernelwright.records import Decision, Evaluation

NOT_MADE = "it cannot be made for this task by the engine"


def prepare(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Load and preflight the task, time its baselines, recall precedents."""
    context = runtime.context
    context.enter("prepare", 0)
    session = context.session
    folder = context.folder
    folder.save(session.facts, folder.facts_file)
    folder.save(session.environment, folder.environment_file)
    told = {"baselines": [b.to_json() for b in session.baselines], "ceilings": session.ceilings.to_json()}
    folder.write_text(folder.baselines_file, json.dumps({"format": "kernelwright/baselines/1", **told}, indent=1))
    best = next((b.name for b in session.baselines if b.best), "")
    context.emit("prepared", f"best baseline: {best}", best=best)
    before = _state_for_coder(context, context.summary.rounds)  # of a run that was stopped and goes on
    return {
        "round": _rounds_done(context),
        "plan": [],
        "judged": before["judged"],
        "parent": None,
        "best": context.summary.best_candidate,
        "best_score": context.summary.best.value if context.summary.best is not None else 0.0,
        "idle_rounds": 0,
        "ending": "",
    }


def _rounds_done(context: RunContext) -> int:
    """Rounds that need not be done again; one that was stopped with decisions open is gone on with."""
    done = context.summary.rounds
    is_open = any(d.round == done and not d.verdict for d in context.folder.decisions())
    return max(0, done - 1) if is_open else done


def planner(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Choose this round's decisions."""
    context = runtime.context
    round_ = state["round"] + 1
    context.enter("planner", round_)
    context.show("doing", "recalling precedents and reading what was tried")
    known = knowledge_of(context, {**state, "round": round_})
    if round_ == 1:
        context.update(same_task_precedent=any(r.same_task for r in known.recalled))
    ending = context.ending() or context.ending_of_models()
    if not ending and round_ > context.config.budget.rounds:
        ending = "budget: rounds"
    decisions = [] if ending else _planned(context, round_)
    if not decisions and not ending:
        try:
            decisions = context.roles.planner.plan(known, limit=context.config.search.decisions_per_round)
        except LimitReached as limit:
            ending = str(limit)
        for decision in decisions:
            context.folder.add_decision(decision)
    if decisions and context.config.interactive:
        decisions = _steered(context, decisions, round_, state.get("best"))
        ending = "" if decisions else "the user dropped the whole plan"
    if not decisions and not ending:
        ending = "nothing-left" if state.get("best") else "nothing-fits"
        if not state.get("best"):
            context.update(nearest=tuple(r.solution.id for r in known.recalled[:3]))
    for decision in decisions:
        context.emit("plan", decision.summary, decision=decision.id, technique=decision.technique)
    return {"round": round_, "plan": [d.id for d in decisions], "ending": ending}


def _planned(context: RunContext, round_: int) -> list[Decision]:
    """A plan that was written before the process was killed: it is carried out, not made again."""
    return [d for d in context.folder.decisions() if d.round == round_ and not d.verdict]


def _steered(context: RunContext, decisions: list[Decision], round_: int, best: str | None) -> list[Decision]:
    """The plan as the user wants it. The run pauses here, over a restart too, until he has said so."""
    wanted = interrupt({"round": round_, "plan": plan_as_data(decisions)})
    kept, dropped = changed_plan(decisions, wanted, round_=round_, best=best)
    for decision in (*dropped, *kept):
        context.folder.add_decision(decision)
    return kept


def fan_out(state: RunState) -> list[Send] | str:
    """One coder a decision; none: finish."""
    if state["ending"] or not state["plan"]:
        return "finish"
    return [Send("coder", OneDecision(decision=d, round=state["round"])) for d in state["plan"]]


def coder(state: OneDecision, runtime: Runtime[RunContext]) -> Command[Any]:
    """Make one decision's candidate."""
    context = runtime.context
    context.enter("coder", state["round"])
    decision = _decision(context, state["decision"])
    context.show("doing", f"writing: {decision.summary}")
    known = for_coder(context, knowledge_of(context, _state_for_coder(context, state["round"])), decision)
    candidate = None
    try:
        if given := given_start(decision):
            candidate = context.folder.candidate(given)
        elif not context.ending():
            candidate = context.roles.coder.write(known, decision)
    except LimitReached as limit:
        context.emit("warning", f"not written ({limit}): {decision.summary}")
    if candidate is None:
        context.emit("candidate", f"cannot be made here: {decision.summary}", decision=decision.id)
    else:
        context.folder.add_candidate(candidate)
        context.emit("candidate", decision.summary, decision=decision.id, candidate=candidate.id)
    child = candidate.id if candidate is not None else None
    return Command(
        goto=Send("profiler", OneCandidate(decision=decision.id, candidate=child, round=state["round"]))
    )


def _state_for_coder(context: RunContext, round_: int) -> RunState:
    """Coders need the pool; it follows from the files, so the fan-out need not carry the state."""
    judged: list[Judged] = []
    for decision in context.folder.decisions():
        if decision.child is not None and (evaluation := context.best_evaluation(decision.child)) is not None:
            judged.append(_judged(decision, decision.child, evaluation))
    return {"round": round_, "judged": judged, "best": context.summary.best_candidate}


def profiler(state: OneCandidate, runtime: Runtime[RunContext]) -> RunState:
    """Judge one candidate, mend it where it is refused, tune and profile it. One candidate at a time."""
    context = runtime.context
    with context.judging:
        context.enter("profiler", state["round"])
        return _profiled(context, state)


def _profiled(context: RunContext, state: OneCandidate) -> RunState:
    decision = _decision(context, state["decision"])
    if ending := context.ending():
        unjudged = {"child": state["candidate"], "learned": f"not judged: {ending}"}
        context.folder.add_decision(decision.model_copy(update=unjudged))
        return {"judged": []}
    if state["candidate"] is None:
        verdict = f"not written: {gone}" if (gone := context.ending_of_models()) else NOT_MADE
        context.folder.add_decision(decision.model_copy(update={"verdict": "failed", "learned": verdict}))
        return {"judged": [Judged(decision=decision.id, candidate=None, score=None)]}
    if (twin := _twin(context, decision, state["candidate"])) is not None:
        same = f"the same kernel as the one of: {twin.summary}"
        context.folder.add_decision(decision.model_copy(update={"verdict": "neutral", "learned": same}))
        context.emit("candidate", same, decision=decision.id)
        return {"judged": [Judged(decision=decision.id, candidate=None, score=None)]}
    candidate = context.folder.candidate(state["candidate"])
    seen = _state_for_coder(context, state["round"])
    final, evaluation = judge_with_repairs(context, decision, candidate, seen)
    decision = against_parent(context, decision, final, evaluation)
    context.folder.add_decision(decision)
    _note_best(context, final.id, evaluation)
    context.emit(
        "evaluation",
        decision.summary,
        decision=decision.id,
        candidate=final.id,
        status=evaluation.status.value,
        depth=evaluation.depth.value,
        speedup=evaluation.speedup.model_dump() if evaluation.speedup else None,
        latency_us=context.latency_us(evaluation),
        failure=evaluation.failure.message if evaluation.failure else "",
    )
    return {"judged": [_judged(decision, final.id, evaluation)]}


def _twin(context: RunContext, decision: Decision, candidate_id: str) -> Decision | None:
    """An earlier decision that led to this very candidate, tuned or as written."""
    bases = {t.candidate_id: t.base_id for t in context.folder.trials()}
    others = [d for d in context.folder.decisions() if d.child is not None and d is not decision]
    if (same := next((d for d in others if candidate_id in (d.child, bases.get(d.child or ""))), None)) is not None:
        return same
    wanted = _fingerprint(context, candidate_id)
    return next((d for d in others if wanted == _fingerprint(context, bases.get(d.child or "", d.child or ""))), None)


def _fingerprint(context: RunContext, candidate_id: str) -> str:
    """What makes a candidate the same kernel as another; read off its files once."""
    if candidate_id not in context.fingerprints:
        context.fingerprints[candidate_id] = fingerprint(context.folder.candidate(candidate_id))
    return context.fingerprints[candidate_id]


def _judged(decision: Decision, candidate_id: str, evaluation: Evaluation) -> Judged:
    score = evaluation.speedup.surely if evaluation.passed and evaluation.speedup else None
    return Judged(decision=decision.id, candidate=candidate_id, score=score)


def _note_best(context: RunContext, candidate_id: str, evaluation: Evaluation) -> None:
    """Keep run.json's best up to date, so that an interrupted run knows it. A disturbed time counts by its low end."""
    best = context.summary.best
    led_to = [d.child for d in context.folder.decisions() if d.child is not None]
    context.update(candidates=sum(context.folder.evaluations_file(child).exists() for child in led_to))  # idempotent
    if not context.counts(evaluation) or evaluation.speedup is None or evaluation.depth.value == "screen":
        return
    if best is None or evaluation.speedup.surely > best.surely:
        latencies = {w.workload: w.latency_us.median for w in evaluation.workloads if w.latency_us}
        context.update(best_candidate=candidate_id, best=evaluation.speedup, best_latency_us=latencies)
        context.emit("best", f"best so far {evaluation.speedup.value:.2f}x", candidate=candidate_id)


def reflector(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Verdict per decision, next parent, and whether to go on."""
    context = runtime.context
    context.enter("reflector", state["round"])
    before = state.get("best_score", 0.0)
    best, score = context.summary.best_candidate, context.summary.best.surely if context.summary.best else 0.0
    improved = score > before * 1.01
    idle = 0 if improved else state.get("idle_rounds", 0) + 1
    new_state: RunState = {**state, "best": best, "best_score": score}
    pairs: list[tuple[Decision, Evaluation]] = []
    for judged in state["judged"]:
        decision = _decision(context, judged["decision"])
        if judged["candidate"] is not None and decision.round == state["round"]:
            pairs.append((decision, evaluation_of(context, judged["candidate"])))
    context.show("doing", f"comparing {len(pairs)} predictions with what was measured")
    reflection = context.roles.reflector.reflect(knowledge_of(context, new_state), pairs)
    for decision in reflection.decisions:
        context.folder.add_decision(decision)
        context.emit(
            "verdict",
            f"{decision.verdict}: {decision.learned}",
            decision=decision.id,
            verdict=decision.verdict,
        )
    context.update(rounds=state["round"])
    ending = _why_end(context, best, idle, reflection.go_on, reflection.why)
    if ending:
        context.emit("budget", ending)
    return {
        "parent": reflection.parent,
        "best": best,
        "best_score": score,
        "idle_rounds": idle,
        "ending": ending,
    }


def _why_end(context: RunContext, best: str | None, idle: int, go_on: bool, why: str) -> str:
    """The one explicit place where rounds, time, measurements, money, target and progress are checked."""
    if ending := context.ending() or context.ending_of_models():
        return ending
    if best is not None and context.reached_target(evaluation_of(context, best)):
        return "target"
    if not go_on:
        return f"floor: {why}"
    if context.summary.rounds >= context.config.budget.rounds:
        return "budget: rounds"
    if idle >= context.config.search.patience and best is not None:
        return f"no progress in {idle} rounds"
    return ""


def go_on(state: RunState) -> str:
    """Another round, or the end."""
    return "finish" if state["ending"] else "planner"


def finish(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Confirm the winner, write best/ and the report, offer it to the library."""
    context = runtime.context
    context.enter("finish", state.get("round", 0))
    finish_run(context, state)
    return {}


def _decision(context: RunContext, decision_id: str) -> Decision:
    return context.folder.decision(decision_id)


def build_graph(checkpointer: Any) -> Any:
    """The compiled workflow."""
    graph = StateGraph(RunState, context_schema=RunContext)
    graph.add_node("prepare", prepare)
    graph.add_node("planner", planner)
    graph.add_node("coder", coder, destinations=("profiler",))
    graph.add_node("profiler", profiler)
    graph.add_node("reflector", reflector)
    graph.add_node("finish", finish)
    graph.add_edge(START, "prepare")
    graph.add_edge("prepare", "planner")
    graph.add_conditional_edges("planner", fan_out, ["coder", "finish"])
    graph.add_edge("profiler", "reflector")
    graph.add_conditional_edges("reflector", go_on, ["planner", "finish"])
    graph.add_edge("finish", END)
    return graph.compile(checkpointer=checkpointer)
