"""The library's answers as text for the terminal: one function a command, records in and a string out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from kernelwright.cli.drawing import as_text, grid, labelled, words
from kernelwright.memory.answers import Answers
from kernelwright.memory.comparison import Difference
from kernelwright.memory.documents import GPU_LANGUAGES
from kernelwright.memory.duplicates import Pair
from kernelwright.memory.evidence import EvidenceRow
from kernelwright.memory.index import Hit, SyncReport
from kernelwright.memory.recall import recorded
from kernelwright.memory.recall_log import Credit, Miss
from kernelwright.memory.solution_files import Problem
from kernelwright.memory.survey import Cell, Stale
from kernelwright.memory.verifications import Verification
from kernelwright.records import Ratio, Rung, Solution
from kernelwright.records.wording import format_count
from kernelwright.report.figures import format_ratio

NOTHING = "-"


def summary(solution: Solution) -> dict[str, Any]:
    """An entry in one JSON object, without its sources."""
    best = _best(solution)
    return {
        "id": solution.id,
        "title": solution.title,
        "family": solution.family,
        "language": solution.language.value,
        "architecture": solution.architecture,
        "state": solution.review.state.value,
        "reviewer": solution.review.reviewer,
        "reason": solution.review.reason,
        "origin": solution.origin,
        "task": solution.task,
        "licence": solution.licence,
        "rungs": len(solution.rungs),
        "speedup": best.model_dump(mode="json") if best else None,
    }


def list_text(solutions: Sequence[Solution], problems: Sequence[Problem], *, columns: int | None = None) -> str:
    """A line an entry."""
    headings = ("id", "family", "language", "state", "shelf", "rungs", "speed-up")
    table = grid(*headings, right=headings[-2:], flexible=("id",))
    for s in solutions:
        told = (s.id, s.family, s.language.value, s.review.state.value, s.origin, str(len(s.rungs)), _factor(s))
        table.add_row(*(words(t) for t in told))
    parts: list[Any] = [table if solutions else words("no entries")]
    parts += [words(f"broken: {p.message}", "red") for p in problems]
    return as_text(parts, columns=columns)


def solution_text(
    solution: Solution,
    folder: Path,
    credit: Credit,
    verified: Verification | None,
    *,
    code: bool = False,
    columns: int | None = None,
) -> str:
    """One entry with its ladder."""
    review = solution.review
    head = [
        ("for", solution.description),
        ("not for", solution.not_for),
        ("kind", f"{solution.family}, {solution.language.value}, {solution.architecture}"),
        ("operators", ", ".join(solution.torch_ops)),
        ("dtypes", ", ".join(solution.dtypes) or "any"),
        ("made for", solution.task or "a general recipe"),
        ("measured on", solution.measured_task),
        ("review", f"{review.state}" + (f" by {review.reviewer}" if review.reviewer else "") + f": {review.reason}"),
        ("source", f"{solution.provenance.source} ({solution.provenance.author})"),
        ("licence", solution.licence),
        ("recalled", f"by {format_count(credit.recalled, 'run')}, used by {credit.used}, won {credit.won} of them"),
        (
            "verified",
            f"{verified.at[:10]}, {_verdict(verified)}" if verified else "",
        ),
        ("folder", f"{folder} ({solution.origin})"),
    ]
    table = grid("rung", "technique", "against", "gain", "over baseline", "what", flexible=("what",))
    for rung in solution.rungs:
        told = (
            rung.name,
            rung.decision.technique,
            rung.decision.bottleneck or NOTHING,
            _gain(rung),
            _ratio(rung.speedup),
        )
        table.add_row(*(words(t) for t in told), words(rung.decision.summary))
    parts: list[Any] = [
        words(f"{solution.id}: {solution.title}", "bold"),
        labelled([(k, v) for k, v in head if v]),
        "",
        table,
    ]
    parts += [words(line, "dim") for line in _reading(solution)]
    unmeasured = dict.fromkeys(r.not_measured for r in solution.rungs if r.not_measured)
    parts += [words(f"not measured: {why}", "dim") for why in unmeasured]
    tried = [(r.name, f"{x.what}: {x.why}") for r in solution.rungs for x in r.rejected]
    parts += ["", words("tried and rejected", "bold"), labelled(tried)] if tried else []
    if code:
        for file in solution.rungs[-1].candidate.files:
            parts += ["", words(file.path, "bold"), *(words(line) for line in file.text.splitlines())]
    return as_text(parts, columns=columns)


def hits_text(hits: Sequence[Hit], pages: Sequence[Hit], *, columns: int | None = None) -> str:
    """What a search found."""
    if not hits and not pages:
        return "nothing found"
    table = grid("id", "language", "state", "title", "ranks", flexible=("title",))
    for h in hits:
        told = (h.id, h.fields.get("language", ""), h.fields.get("state", ""), h.fields.get("title", ""), h.why)
        table.add_row(*(words(str(t)) for t in told))
    parts: list[Any] = [table if hits else words("no solution found")]
    if pages:
        parts += ["", words("techniques", "bold"), labelled((h.id, str(h.fields.get("title", ""))) for h in pages)]
    return as_text(parts, columns=columns)


def answers_json(answers: Answers) -> dict[str, Any]:
    """A recall as JSON."""
    return {
        "format": "kernelwright/answers/1",
        "task": answers.task.name,
        "bottleneck": answers.bottleneck,
        "excluded_same_task": answers.excluded_same_task,
        "same_task_precedent": answers.same_task,
        "solutions": recorded(answers.solutions),
        "decisions": [
            {**vars(d.evidence), "families": list(d.families), "precedents": list(d.precedents)}
            for d in answers.decisions
        ],
        "techniques": [
            {"id": t.technique.id, "title": t.technique.title, "why": list(t.why)} for t in answers.techniques
        ],
    }


def answers_text(answers: Answers, *, columns: int | None = None) -> str:
    """The three kinds of answer."""
    parts: list[Any] = [words("Solutions: adapt, don't copy", "bold")]
    rows = [(r.solution.id, "; ".join(r.reasons)) for r in answers.solutions]
    parts += [labelled(rows) if rows else words("none found"), "", words("Decisions on similar tasks", "bold")]
    table = grid("technique", "n", "failed", "median gain", "seen in", right=("n", "failed"), flexible=("seen in",))
    for d in answers.decisions:
        e = d.evidence
        gain = f"{e.median_gain:.2f}x [{e.low:.2f}, {e.high:.2f}]" if e.median_gain is not None else NOTHING
        table.add_row(words(e.technique), str(e.n), str(e.failures), gain, words(", ".join(d.precedents)))
    parts += [table if answers.decisions else words("nothing measured yet"), "", words("Techniques", "bold")]
    pages = [(t.technique.id, f"{t.technique.title} ({'; '.join(t.why)})") for t in answers.techniques]
    parts += [labelled(pages) if pages else words("no page fits")]
    precedent = (
        "was" if answers.same_task else ("was left out, if there is one" if answers.excluded_same_task else "was not")
    )
    parts += [
        "",
        words(
            f"A precedent for this very task {precedent} recalled.".replace(
                "if there is one recalled", "if there is one"
            ),
            "dim",
        ),
    ]
    return as_text(parts, columns=columns)


def verification_text(told: Verification, *, columns: int | None = None) -> str:
    """What measuring a ladder again gave."""
    table = grid("rung", "result", flexible=("result",))
    for name, result in told.rungs.items():
        table.add_row(words(name), words(result))
    head = f"{told.id} on {told.task}: {_verdict(told)} ({told.depth}, {told.environment.cpu}, {told.at[:10]})"
    return as_text([words(head, "bold"), table], columns=columns)


def _verdict(told: Verification) -> str:
    """What a verification came to: nothing is called reproduced where nothing stated was compared."""
    if not told.reproduced:
        return "NOT reproduced"
    compared = any(result.startswith("reproduced") for result in told.rungs.values())
    return "reproduced" if compared else "right, with nothing to compare"


def sync_text(report: SyncReport) -> str:
    """What bringing the index up to date did."""
    told = f"{report.added} added, {report.updated} updated, {report.removed} removed, {report.unchanged} unchanged"
    return "\n".join([f"{told}; {report.embedded} embedded", *(f"left out: {p}" for p in report.problems)])


def duplicates_text(pairs: Sequence[Pair], retired: Sequence[str], *, columns: int | None = None) -> str:
    """Near-duplicates."""
    if not pairs:
        return "no near-duplicates"
    table = grid("keep", "drop", "alike", "why", flexible=("why",))
    for p in pairs:
        table.add_row(words(p.keep.id), words(p.drop.id), f"{p.likeness:.0%}", words(p.reason))
    end = f"retired: {', '.join(retired)}" if retired else "retire them with --merge"
    return as_text([table, words(end)], columns=columns)


def difference_text(found: Difference, *, columns: int | None = None) -> str:
    """Two entries side by side."""
    parts: list[Any] = [words(f"{found.left} and {found.right}: {found.likeness:.0%} the same code", "bold")]
    parts += [labelled((key, f"{a!r} / {b!r}") for key, (a, b) in found.fields.items())] if found.fields else []
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for lines in (found.ladder, found.sources):
        parts += ["", *(words(line or " ", styles.get(line[:1], "")) for line in lines)] if lines else []
    return as_text(parts, columns=columns)


def coverage_text(cells: Sequence[Cell], *, columns: int | None = None) -> str:
    """A map for CPUs and one for GPUs: a row a family, a column a language and architecture."""
    parts: list[Any] = []
    for where, on_gpu in (("on a CPU", False), ("on a GPU", True)):
        chosen = [c for c in cells if (c.language in GPU_LANGUAGES) is on_gpu]
        parts += [words(where, "bold"), _map(chosen), ""] if chosen else []
    return as_text([*parts, words("entries in use / those of them that are measured", "dim")], columns=columns)


def _map(cells: Sequence[Cell]) -> Any:
    kinds = sorted({(c.language, c.architecture) for c in cells})
    parts = [(wrap(lang, 7 if len(lang) > 8 else 8), arch) for lang, arch in kinds]
    names = ["\n".join([*lang, *([arch] if arch != "any" else [])]) for lang, arch in parts]
    table = grid("family", *names, right=names)
    for family in sorted({c.family for c in cells}):
        here = {(c.language, c.architecture): c for c in cells if c.family == family}
        row = [f"{here[k].solutions}/{here[k].measured}" if k in here else "." for k in kinds]
        table.add_row(words(family), *row)
    return table


def stale_text(found: Sequence[Stale], *, of: int, columns: int | None = None) -> str:
    """Entries whose evidence cannot be relied on here, by reason: many share one."""
    if not found:
        return f"none of {of} entries is stale"
    by_reason: dict[str, list[str]] = {}
    for one in found:
        by_reason.setdefault("; ".join(one.reasons), []).append(one.solution.id)
    parts: list[Any] = []
    for reason, ids in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        parts += [words(f"{reason} ({format_count(len(ids), 'entry')})", "bold"), words("  " + ", ".join(ids)), ""]
    told = f"{len(found)} of {format_count(of, 'entry')}; measure again, where their device is, with:"
    return as_text([*parts, words(f"{told} kernelwright library verify ID", "dim")], columns=columns)


def misses_text(found: Sequence[Miss], *, columns: int | None = None) -> str:
    """What was sought in vain."""
    if not found:
        return "no recall found nothing"
    table = grid("when", "task", "where", "asked for", "bottleneck")
    for m in found:
        asked = " ".join((*m.languages, *m.conditions))
        table.add_row(*(words(t) for t in (m.at[:16], m.task, m.where, asked, m.bottleneck)))
    return as_text([table], columns=columns)


def stats_text(
    counts: Mapping[str, Mapping[str, int]],
    rows: Sequence[EvidenceRow],
    credits: Mapping[str, Credit],
    *,
    columns: int | None = None,
) -> str:
    """Counts, evidence and credit."""
    told = [(name, ", ".join(f"{k} {n}" for k, n in sorted(found.items()))) for name, found in counts.items()]
    parts: list[Any] = [labelled(told)]
    if rows:
        table = grid(
            "technique", "family", "against", "language", "over", "n", "failed", "median", right=("n", "failed")
        )
        for r in rows[:20]:
            median = f"{r.median_gain:.2f}x" if r.median_gain is not None else NOTHING
            table.add_row(*(words(t) for t in (r.technique, r.family, r.bottleneck, r.language, r.over)),
                          str(r.n), str(r.failures), median)  # fmt: skip
        parts += ["", words("evidence", "bold"), table]
    if credits:
        table = grid("recalled entry", "runs", "used", "right", "refused", "won", "best", right=("runs", "used"))
        for id, c in sorted(credits.items(), key=lambda item: (-item[1].won, -item[1].used, item[0]))[:20]:
            best = f"{c.best:.2f}x" if c.best else NOTHING
            table.add_row(words(id), *(str(n) for n in (c.recalled, c.used, c.passed, c.failed, c.won)), best)
        parts += ["", words("what came of recalling", "bold"), table]
    return as_text(parts, columns=columns)


def _best(solution: Solution) -> Ratio | None:
    found = [r.speedup for r in solution.rungs if r.speedup is not None]
    return max(found, key=lambda r: r.value) if found else None


def _factor(solution: Solution) -> str:
    best = _best(solution)
    return f"{best.value:.2f}x" if best is not None else NOTHING


def _ratio(ratio: Ratio | None) -> str:
    return format_ratio(ratio) if ratio is not None else NOTHING


def _reading(solution: Solution) -> list[str]:
    """How the numbers of a ladder are to be read."""
    steps = {r.name: r.decision.measured for r in solution.rungs[1:] if r.decision.measured is not None}
    sessions = sorted({gain.sessions for gain in steps.values()})
    lines = []
    if sessions and sessions[-1] > 1:
        told = f"{sessions[0]} to {sessions[-1]}" if len(sessions) > 1 else str(sessions[0])
        lines.append(f"measured in {told} sessions: an interval says where one more session finds the number")
    elif sessions:
        lines.append("measured in one session: an interval says how sure that one is, not what another one finds")
    none = [name for name, gain in steps.items() if not gain.shown]
    return lines + ([f"no difference shown over the rung before: {', '.join(none)}"] if none else [])


def _gain(rung: Rung) -> str:
    return _ratio(rung.decision.measured)
