"""What a role is shown: the Knowledge of a run at this point, put together from its files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from kernelwright.agents.context import RunContext
from kernelwright.agents.state import RunState
from kernelwright.agents.steering import wishes
from kernelwright.agents.strategies import Standing, parents
from kernelwright.memory.recall import recorded
from kernelwright.protocols import Knowledge, Recalled
from kernelwright.records import Candidate, Ceilings, Decision, Environment, Evaluation, Technique
from kernelwright.workspace import append_line, now

MOST_NAMED = 2
"""Other candidates whose sources a coder is shown because its decision names them."""
_ID = re.compile(r"\b[0-9a-f]{8,16}\b")


def knowledge_of(context: RunContext, state: RunState) -> Knowledge:
    """The run's knowledge: task, facts, best so far with its profile, precedents, evidence, what was tried."""
    session, config = context.session, context.config
    best_id = state.get("best")
    best = context.folder.candidate(best_id) if best_id else None
    profile = context.folder.profile(best_id) if best_id else None
    bottleneck = profile.bottleneck if profile is not None else ""
    without = context.task if config.library.exclude_same_task else None
    evidence = context.roles.recall.evidence(family=context.task.family, bottleneck=bottleneck, without=without)
    recalled = _recalled(context, bottleneck)
    pool = _pool(context, state)
    shown = _at_hand(context, state, [*pool, best] if best is not None else pool)
    judged = {name: context.best_evaluation(name) for name in shown}
    profiles = {name: context.folder.profile(name) for name in shown}
    return Knowledge(
        task=context.task,
        facts=session.facts,
        baselines=session.baselines,
        best=best,
        pool=pool,
        best_evaluation=context.best_evaluation(best_id) if best_id else None,
        profile=profile,
        recalled=recalled,
        evidence=evidence if config.library.recall else (),
        techniques=_techniques(context, recalled, bottleneck),
        tried=context.folder.decisions(),
        languages=[language.value for language in config.languages],
        round=state.get("round", 0),
        hint=wishes(config.hint, context.folder),
        machine=machine_words(session.environment, session.ceilings if config.profile else Ceilings()),
        evaluations={name: found for name, found in judged.items() if found is not None},
        profiles={name: found for name, found in profiles.items() if found is not None},
        trials=context.folder.trials(),
    )


def _at_hand(context: RunContext, state: RunState, candidates: Sequence[Candidate]) -> list[str]:
    """Ids of the candidates that a page of this round may speak of."""
    steps = [d for d in context.folder.decisions() if d.round == state.get("round", 0)]
    ids = [c.id for c in candidates] + [name for d in steps for name in (d.parent, d.child) if name]
    return list(dict.fromkeys(ids))


def for_coder(context: RunContext, known: Knowledge, decision: Decision) -> Knowledge:
    """What a coder starts from is among what it is shown, whatever is better by now; so is what its decision names."""
    told = " ".join((decision.summary, decision.where, decision.evidence, decision.hypothesis))
    said = set(_ID.findall(f"{told} {' '.join(map(str, decision.parameters.values()))}".lower()))
    said |= {d.child for d in known.tried if d.child and any(d.id.startswith(text) for text in said)}
    ids = context.folder.candidate_ids() if said else []
    named = [name for name in ids if name != decision.parent and any(name.startswith(text) for text in said)]
    found = [context.folder.candidate(name) for name in named[:MOST_NAMED]]
    pool = list(known.pool)
    if decision.parent is not None and all(c.id != decision.parent for c in pool):
        pool.insert(0, context.folder.candidate(decision.parent))
    return replace(known, pool=pool, named=found)


def machine_words(environment: Environment, ceilings: Ceilings) -> str:
    """The machine as far as a kernel's author needs to know it, with the roofs that were measured here."""
    bandwidths = ", ".join(f"{int(size) >> 10} KiB {gbps:.0f}" for size, gbps in ceilings.gbps.items())
    named = {
        "Processor": environment.cpu,
        "Widest vector extension": environment.isa,
        "Threads a kernel may use": str(environment.threads),
        "Caches that one core sees": ", ".join(f"{k} {v >> 10} KiB" for k, v in environment.cache_bytes.items()),
        "Clock when the run began": f"{environment.clock_ghz:.2f} GHz" if environment.clock_ghz else "",
        "GPU": environment.gpu,
        "C++ compiler": environment.compiler,
        "BLAS behind torch": environment.blas,
        "Roof, float32 GFLOP/s": f"{ceilings.gflops:.0f}" if ceilings.gflops else "",
        "Roofs of other types, GFLOP/s": ", ".join(f"{dtype} {rate:.0f}" for dtype, rate in ceilings.rates.items()),
        "Roof, GB/s by size of what is touched": bandwidths,
    }
    if not environment.gpu:
        named["A timed call"] = (
            "one of a few in a row, each with inputs and outputs of its own; the inputs were written just before by "
            "another process (on another core where there are several); the outputs were overwritten before that by "
            "the kernel's own process, which has them mapped and uses them again; weights stay where they are"
        )
    if bandwidths:
        named["How the roofs were measured"] = (
            f"{environment.threads} thread(s), the same memory over and over: the better of copying (bytes read and "
            "written count) and reading; multiply-adds in registers. What another core wrote last comes more slowly"
        )
    return "\n".join(f"{label}: {text}" for label, text in named.items() if text)


def _recalled(context: RunContext, bottleneck: str) -> list[Recalled]:
    """Precedents, recalled once a session and recorded."""
    library = context.config.library
    if not library.recall:
        return []
    if not context.recalled:
        bottleneck = _first_asked(context, bottleneck)
        context.recalled = context.roles.recall.recall(
            context.task,
            context.session.facts,
            languages=[language.value for language in context.config.languages],
            bottleneck=bottleneck,
            exclude_same_task=library.exclude_same_task,
            limit=library.limit,
        )
        line = {
            "format": "kernelwright/recall/1",
            "at": now(),
            "languages": [language.value for language in context.config.languages],
            "bottleneck": bottleneck,
            "exclude_same_task": library.exclude_same_task,
            "found": recorded(context.recalled),
        }
        append_line(context.folder.recalls_file, json.dumps(line, ensure_ascii=False))
    return context.recalled


def _first_asked(context: RunContext, bottleneck: str) -> str:
    """What the run's first recall was asked for: one that was killed is shown the precedents that it had before."""
    try:
        with context.folder.recalls_file.open(encoding="utf-8") as lines:
            return str(json.loads(next(lines))["bottleneck"])
    except (OSError, StopIteration, ValueError, KeyError):
        return bottleneck


def _techniques(context: RunContext, recalled: list[Recalled], bottleneck: str) -> list[Technique]:
    """Pages to read, where a model plans: rules read none."""
    if not context.config.library.recall or context.config.engine_of("planner") == "search":
        return []
    languages = [language.value for language in context.config.languages]
    return context.roles.recall.techniques(context.task, recalled, languages=languages, bottleneck=bottleneck)


def _pool(context: RunContext, state: RunState) -> list[Candidate]:
    """The candidates that a round may start from, as the strategy has it."""
    search = context.config.search
    led_to = {d.child: d for d in context.folder.decisions() if d.child}
    standings = []
    for judged in state.get("judged", []):
        name, score = judged["candidate"], judged["score"]
        if name and score is not None:
            technique = led_to[name].technique if name in led_to else ""
            language = context.folder.candidate(name).language.value
            standings.append(Standing(name, score, language, technique))
    chosen = parents(standings, strategy=search.strategy, width=search.width, round_=state.get("round", 0))
    return [context.folder.candidate(c) for c in chosen]


def evaluation_of(context: RunContext, candidate_id: str) -> Evaluation:
    """The most thorough judgement of a candidate that was judged in this run.

    Raises:
        KeyError: it was never judged.
    """
    found = context.best_evaluation(candidate_id)
    if found is None:
        raise KeyError(candidate_id)
    return found
