"""library promote, reject, retire, dedupe, diff, coverage, stale, misses, export, import, stats."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kernelwright.cli.output import ConfigOption, JsonOption, OptionOption, WorkspaceOption, print_json, say

ReasonOption = Annotated[str, typer.Option("--reason", help="Why; stands in solution.yaml.")]
ReviewerOption = Annotated[str, typer.Option("--reviewer", help="Who decides (default: your login name).")]
IdsArgument = Annotated[list[str], typer.Argument(help="Ids of entries.")]


def commands(app: typer.Typer) -> None:
    """Add this file's commands to the application."""
    for command in (promote, reject, retire, dedupe, diff, coverage, stale, misses, export, stats):
        app.command()(command)
    app.command("import")(import_)


def promote(
    ids: IdsArgument,
    reason: ReasonOption,
    reviewer: ReviewerOption = "",
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Let entries be recalled: they are right, measured, licensed, and worth reading."""
    _review("promoted", ids, reason, reviewer, config, option, json_, workspace)


def reject(
    ids: IdsArgument,
    reason: ReasonOption,
    reviewer: ReviewerOption = "",
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Refuse entries; they stay on the shelf with the reason, and are neither recalled nor counted as evidence."""
    _review("rejected", ids, reason, reviewer, config, option, json_, workspace)


def retire(
    ids: IdsArgument,
    reason: ReasonOption,
    reviewer: ReviewerOption = "",
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Take entries out of use that something better replaced; their evidence still counts."""
    _review("retired", ids, reason, reviewer, config, option, json_, workspace)


def _review(
    state: str,
    ids: list[str],
    reason: str,
    reviewer: str,
    config: list[Path] | None,
    option: list[str] | None,
    json_: bool,
    workspace: Path | None,
) -> None:
    from kernelwright import wiring
    from kernelwright.cli.library import opened
    from kernelwright.cli.library_text import summary
    from kernelwright.memory.curation import review
    from kernelwright.records import ReviewState

    place, run_config = opened(workspace, config, option)
    library = wiring.library(place, run_config)
    who = reviewer or getpass.getuser()
    done = [review(library, id, ReviewState(state), reviewer=who, reason=reason) for id in ids]
    if json_:
        print_json([summary(s) for s in done])
    for solution in done if not json_ else ():
        say(f"{solution.id} is now {solution.review.state} ({solution.origin} shelf): {solution.review.reason}")


def dedupe(
    merge: Annotated[bool, typer.Option("--merge", help="Retire the lesser of each pair.")] = False,
    reviewer: ReviewerOption = "",
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Near-duplicates: same family, language and architecture, nearly the same code, no gain shown."""
    from kernelwright import wiring
    from kernelwright.cli.library import opened
    from kernelwright.cli.library_text import duplicates_text
    from kernelwright.memory.curation import merge as merge_pairs
    from kernelwright.memory.duplicates import duplicates

    place, run_config = opened(workspace, config, option)
    library = wiring.library(place, run_config)
    pairs = duplicates(library.solutions)
    retired = merge_pairs(library, pairs, reviewer=reviewer or getpass.getuser()) if merge else []
    if json_:
        told = [
            {"keep": p.keep.id, "drop": p.drop.id, "likeness": round(p.likeness, 4), "reason": p.reason} for p in pairs
        ]
        print_json({"pairs": told, "retired": retired})
    else:
        say(duplicates_text(pairs, retired))


def diff(
    left: Annotated[str, typer.Argument(help="An entry, or entry#rung.")],
    right: Annotated[str, typer.Argument(help="Another; left out: the shipped entry that LEFT hides.")] = "",
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """What sets two entries, or two rungs of one, apart."""
    from kernelwright import wiring
    from kernelwright.cli.library import opened
    from kernelwright.cli.library_text import difference_text
    from kernelwright.memory.comparison import between

    place, run_config = opened(workspace, config, option)
    found = between(wiring.library(place, run_config), left, right)
    if json_:
        print_json(asdict(found))
    else:
        say(difference_text(found))


def coverage(
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """A map of the library: family x language x architecture."""
    from kernelwright import wiring
    from kernelwright.cli.library import opened
    from kernelwright.cli.library_text import coverage_text
    from kernelwright.memory.survey import coverage as survey

    place, run_config = opened(workspace, config, option)
    cells = survey(wiring.library(place, run_config).solutions)
    if json_:
        print_json([asdict(c) for c in cells])
    else:
        say(coverage_text(cells))


def stale(
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Entries whose evidence is from other hardware or an older toolchain. Exit 1 when there are any."""
    from kernelwright import wiring
    from kernelwright.cli.library import opened
    from kernelwright.cli.library_text import stale_text
    from kernelwright.memory.survey import stale as survey
    from kernelwright.memory.verifications import latest

    place, run_config = opened(workspace, config, option)
    solutions = wiring.library(place, run_config).solutions
    found = survey(solutions, wiring.here(run_config), latest(place.verifications_file))
    if json_:
        print_json([{"id": s.solution.id, "reasons": list(s.reasons)} for s in found])
    else:
        say(stale_text(found, of=len(solutions)))
    raise typer.Exit(1 if found else 0)


def misses(json_: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """Recalls that found nothing: what the library lacks."""
    from kernelwright.cli.library import opened
    from kernelwright.cli.library_text import misses_text
    from kernelwright.memory.recall_log import misses as sought_in_vain

    place, _ = opened(workspace)
    found = sought_in_vain(place.runs, place.recalls_file)
    if json_:
        print_json([asdict(m) for m in found])
    else:
        say(misses_text(found))


def export(
    file: Annotated[Path, typer.Argument(help="Archive to write (.zip).")],
    ids: Annotated[list[str] | None, typer.Argument(help="Entries; left out: all that did not come shipped.")] = None,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Write entries into one archive with a manifest of hashes."""
    from kernelwright import wiring
    from kernelwright.cli.library import opened
    from kernelwright.memory.archive import export as write

    place, run_config = opened(workspace, config, option)
    done = write(wiring.library(place, run_config), ids or (), file)
    if json_:
        print_json({"file": str(file), "entries": done})
    else:
        say(f"wrote {file}: {', '.join(done)}")


def import_(
    file: Annotated[Path, typer.Argument(help="An archive that `library export` wrote.")],
    keep_review: Annotated[
        bool, typer.Option("--keep-review", help="Keep review states; only for archives that you trust.")
    ] = False,
    rename: Annotated[
        bool, typer.Option("--rename", help="Entries whose id is taken come in under another; else all are refused.")
    ] = False,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Take an archive's entries as proposals, all of them or none."""
    from kernelwright import wiring
    from kernelwright.cli.library import opened
    from kernelwright.memory.archive import import_archive

    place, run_config = opened(workspace, config, option)
    done = import_archive(wiring.library(place, run_config), file, keep_review=keep_review, rename=rename)
    if json_:
        print_json({k: v for k, v in asdict(done).items() if v or k != "renamed"})
        return
    say(f"proposed: {', '.join(done.added) or 'none'}")
    for old, new in done.renamed.items():
        say(f"{old} is another entry here: the archive's is {new}")
    if done.unchanged:
        say(f"there already: {', '.join(done.unchanged)}")


def stats(
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Counts, evidence, and what came of recalled entries."""
    from kernelwright import wiring
    from kernelwright.cli.library import opened
    from kernelwright.cli.library_text import stats_text
    from kernelwright.memory.recall_log import credits
    from kernelwright.memory.survey import stats as count

    place, run_config = opened(workspace, config, option)
    library = wiring.library(place, run_config)
    counts, rows, told = count(library.solutions), wiring.evidence(place, library).rows(), credits(place.runs)
    if json_:
        print_json(
            {
                "counts": counts,
                "evidence": [asdict(r) for r in rows],
                "credits": {id: asdict(c) for id, c in sorted(told.items())},
            }
        )
    else:
        say(stats_text(counts, rows, told))
