"""library: find, read and curate solutions. What each command does is decided in ``memory/``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.library_review import commands as review_commands
from kernelwright.cli.output import (
    ConfigOption,
    JsonOption,
    OptionOption,
    SetOption,
    WorkspaceOption,
    note,
    print_json,
    say,
)

if TYPE_CHECKING:
    from kernelwright.config import RunConfig
    from kernelwright.workspace import Workspace

app = typer.Typer(help="The library of solutions: find, read, add and curate them.", no_args_is_help=True)
review_commands(app)

IdArgument = Annotated[str, typer.Argument(help="Id of an entry.")]
StateOption = Annotated[str, typer.Option("--state", help="proposed, promoted, rejected or retired.")]
LanguageOption = Annotated[list[str] | None, typer.Option("--language", "-l", help="Only this one. Repeatable.")]
FamilyOption = Annotated[list[str] | None, typer.Option("--family", "-f", help="Only this one. Repeatable.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="At most so many.")]


def opened(
    workspace: Path | None, config: list[Path] | None = None, option: list[str] | None = None
) -> tuple[Workspace, RunConfig]:
    """The workspace and the configuration that a command asked for."""
    from kernelwright.config import load_config
    from kernelwright.workspace import Workspace

    return Workspace.open(workspace), load_config(files=config or (), overrides=option or ())



def known_state(state: str) -> str:
    """A review state by its name; "" stays.

    Raises:
        UnknownName: there is none of this name.
    """
    from kernelwright.errors import UnknownName
    from kernelwright.records import ReviewState

    if state and state not in list(ReviewState):
        raise UnknownName("state", state, list(ReviewState))
    return state


@app.command("list")
def list_(
    state: StateOption = "",
    language: LanguageOption = None,
    family: FamilyOption = None,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """All entries, the user's before the team's before the shipped ones; broken ones with what is wrong."""
    from kernelwright import wiring
    from kernelwright.cli.library_text import list_text, summary

    place, run_config = opened(workspace, config, option)
    library = wiring.library(place, run_config)
    rows = [
        s
        for s in library.solutions
        if s.review.state == (known_state(state) or s.review.state)
        and s.language in (language or [s.language])
        and s.family in (family or [s.family])
    ]
    problems = library.problems
    if json_:
        broken = [{"folder": str(p.folder), "message": p.message} for p in problems]
        print_json({"solutions": [summary(s) for s in rows], "broken": broken})
    else:
        say(list_text(rows, problems))


@app.command()
def show(
    id: IdArgument,
    code: Annotated[bool, typer.Option("--code", help="Print the best rung's sources too.")] = False,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """One entry: what it is for, its ladder of decisions with what each bought, what came of recalling it."""
    from kernelwright import wiring
    from kernelwright.cli.library_text import solution_text
    from kernelwright.memory.recall_log import Credit, credits
    from kernelwright.memory.verifications import latest

    place, run_config = opened(workspace, config, option)
    library = wiring.library(place, run_config)
    solution, credit = library.get(id), credits(place.runs).get(id, Credit())
    verified = latest(place.verifications_file).get(id)
    if json_:
        told = {"folder": str(library.folder(id)), "credit": asdict(credit)}
        print_json({**solution.to_json(), **told, "verified": verified.to_json() if verified else None})
    else:
        say(solution_text(solution, library.folder(id), credit, verified, code=code))


@app.command()
def search(
    text: Annotated[list[str], typer.Argument(help="In your words, or torch code.")],
    language: LanguageOption = None,
    family: FamilyOption = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "",
    dtype: Annotated[str, typer.Option(help="Entries that hold for it, e.g. float16.")] = "",
    bottleneck: Annotated[str, typer.Option(help="Entries with a rung that addresses it, e.g. memory.")] = "",
    state: StateOption = "",
    limit: LimitOption = 8,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Find entries by a description or by code. Exit 1 when nothing is found."""
    from kernelwright import wiring
    from kernelwright.cli.library_text import hits_text
    from kernelwright.memory.catalogue import Wanted

    place, run_config = opened(workspace, config, option)
    index = wiring.synced_index(place, run_config)
    states = [known_state(state)] if state else ["promoted", "proposed"]
    wanted = Wanted(
        languages=language or (),
        families=family or (),
        device=device,
        dtype=dtype,
        bottleneck=bottleneck,
        states=states,
    )
    hits = index.search(" ".join(text), wanted=wanted, limit=limit)
    pages = index.search(" ".join(text), wanted=Wanted(kind="technique"), limit=min(limit, 5))
    index.close()
    if json_:
        print_json({"solutions": [h.to_json() for h in hits], "techniques": [h.to_json() for h in pages]})
    else:
        say(hits_text(hits, pages))
    raise typer.Exit(0 if hits else 1)


@app.command()
def recall(
    task: Annotated[str, typer.Argument(help="A task's name, its folder, or a KernelBench file.")],
    bottleneck: Annotated[str, typer.Option(help="Of the current profile: memory, compute, latency, ...")] = "",
    language: LanguageOption = None,
    family: FamilyOption = None,
    device: Annotated[str, typer.Option(help="cpu or cuda: only what is for it.")] = "",
    dtype: Annotated[str, typer.Option(help="Only solutions that hold for it, e.g. float16.")] = "",
    exclude_same_task: Annotated[
        bool, typer.Option("--exclude-same-task", help="Leave out what was made for this very task.")
    ] = False,
    limit: LimitOption = 8,
    set_: SetOption = None,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """What is known for a task: solutions, decisions with what they bought, techniques. Exit 1 when nothing is."""
    from kernelwright import wiring
    from kernelwright.cli.library_text import answers_json, answers_text

    place, run_config = opened(workspace, config, option)
    answers = wiring.ask_library(
        place,
        wiring.find_task(place, task, set_ or ()),
        run_config,
        languages=language or (),
        families=family or (),
        device=device,
        dtype=dtype,
        bottleneck=bottleneck,
        exclude_same_task=exclude_same_task or run_config.library.exclude_same_task,
        limit=limit,
    )
    if json_:
        print_json(answers_json(answers))
    else:
        say(answers_text(answers))
    raise typer.Exit(1 if answers.found_nothing else 0)


@app.command()
def add(
    path: Annotated[Path, typer.Argument(help="A kernel's file or folder, or a folder with solution.yaml.")],
    task: Annotated[str, typer.Option(help="The task it is for: family, operators and dtypes follow from it.")] = "",
    id_: Annotated[str, typer.Option("--id", help="Default: from the file's name.")] = "",
    title: Annotated[str, typer.Option(help="Default: the id in words.")] = "",
    description: Annotated[str, typer.Option(help="Default: the file's opening words.")] = "",
    family: Annotated[str, typer.Option(help="Default: the task's.")] = "",
    source: Annotated[str, typer.Option(help="Where technique and code come from.")] = "",
    author: Annotated[str, typer.Option(help="Who wrote it.")] = "",
    licence: Annotated[str, typer.Option(help="SPDX; default: the file's SPDX line.")] = "",
    technique: Annotated[str, typer.Option(help="Name of what it does, e.g. online-softmax.")] = "",
    architecture: Annotated[str, typer.Option(help="Default: any.")] = "",
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Propose a kernel of your own; asks only for what it cannot derive. Exit 1 when it is refused."""
    from kernelwright import wiring
    from kernelwright.memory.adding import QUESTIONS, Told, unanswered
    from kernelwright.memory.adding import add as add_to

    place, run_config = opened(workspace, config, option)
    given = Told(id_, title, description, family, source, author, licence, technique, architecture)
    made_for = wiring.find_task(place, task) if task else None
    asked = unanswered(path, given, task=made_for) if not json_ and _may_ask() else []
    given = Told(**{**asdict(given), **{name: typer.prompt(QUESTIONS[name]) for name in asked}})
    proposal = add_to(wiring.library(place, run_config), path, given, task=made_for)
    tell_proposal(proposal, json_)
    if proposal.solution is not None and not json_:
        say(f"next: kernelwright library verify {proposal.solution.id}")
    raise typer.Exit(0 if proposal.accepted else 1)


def tell_proposal(proposal: Any, json_: bool) -> None:
    """What became of an offer."""
    if json_:
        id = proposal.solution.id if proposal.solution is not None else ""
        print_json({"accepted": proposal.accepted, "id": id, "reason": proposal.reason, "nearest": proposal.nearest})
    else:
        say(proposal.reason)


def _may_ask() -> bool:
    import sys

    return sys.stdin.isatty()


@app.command()
def verify(
    ids: Annotated[list[str], typer.Argument(help="Entries to measure again.")],
    task: Annotated[str, typer.Option(help="On this task instead of the one it was made for.")] = "",
    depth: Annotated[str, typer.Option(help="screen, full or confirmed.")] = "full",
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Keep the figures in the entry and state what all its sessions say (a shipped one is copied first).",
        ),
    ] = False,
    sessions: Annotated[
        int,
        typer.Option(min=1, help="So many, one after the other over all entries; three say how much numbers vary."),
    ] = 1,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Measure whole ladders again with the one judge, here. Exit 1 when a rung fails or is not reproduced.

    A number that rests on several sessions is reproduced when the new one lies within its interval, at the second
    attempt at the latest; one that rests on a single session when the intervals meet, give or take 5 %.
    """
    from kernelwright import wiring
    from kernelwright.cli.library_text import verification_text
    from kernelwright.errors import LibraryError, UnknownName
    from kernelwright.records import Depth

    if depth not in list(Depth):
        raise UnknownName("depth", depth, list(Depth))
    if sessions > 1 and not write:
        raise LibraryError("--sessions needs --write: sessions are kept in the entry", hint="add --write")
    place, run_config = opened(workspace, config, option)
    told = []
    for session, id in [(n, id) for n in range(1, sessions + 1) for id in ids]:
        note(f"verifying {id}" + (f", session {session} of {sessions}" if sessions > 1 else ""))
        told.append(wiring.verify_entry(place, id, run_config, task=task, depth=Depth(depth), write=write))
        if not json_:
            say(verification_text(told[-1]))
    if json_:
        print_json([v.to_json() for v in told])
    raise typer.Exit(0 if all(v.reproduced for v in told[-len(ids) :]) else 1)


@app.command()
def reindex(
    anew: Annotated[bool, typer.Option("--anew", help="Forget the index and read every file again.")] = False,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Bring the index up to date with the files; only what changed is read and embedded."""
    from kernelwright import wiring
    from kernelwright.cli.library_text import sync_text

    place, run_config = opened(workspace, config, option)
    report = wiring.reindex(place, run_config, anew=anew, progress=lambda done, of: note(f"  {done} of {of}"))
    if json_:
        print_json({"format": "kernelwright/reindex/1", **asdict(report)})
    else:
        say(sync_text(report))
    raise typer.Exit(1 if report.problems else 0)
