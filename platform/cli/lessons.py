"""lessons list | show | why | history | retire | edit | distill. What each does is decided in ``promptopt/``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.output import ConfigOption, JsonOption, OptionOption, WorkspaceOption, note, print_json, say

if TYPE_CHECKING:
    from kernelwright.memory.evidence import Observation
    from kernelwright.promptopt.shelves import LessonShelf
    from kernelwright.records import Lesson
    from kernelwright.workspace import Workspace

app = typer.Typer(help="Lessons: what runs taught, with the evidence for every sentence.", no_args_is_help=True)

IdArgument = Annotated[str, typer.Argument(help="Id of a lesson, or an unambiguous start of it.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for the history.")]
ByOption = Annotated[str, typer.Option("--by", help="Who, for the history.")]
ModelOption = Annotated[
    str, typer.Option("--model", "-m", help="Let this model read the runs too: openai/NAME, relay:DIR, scripted:FILE.")
]


def opened(workspace: Path | None) -> tuple[Workspace, LessonShelf]:
    """The workspace and its lessons."""
    from kernelwright.promptopt.shelves import LessonShelf
    from kernelwright.workspace import Workspace

    place = Workspace.open(workspace)
    return place, LessonShelf(place.lessons)


@app.command("list")
def list_(
    state: Annotated[str, typer.Option(help="proposed, active, disputed or retired.")] = "",
    family: Annotated[str, typer.Option(help="Those whose scope names it, or names none.")] = "",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """All lessons with state and evidence; files that cannot be used with what is wrong. Exit 1 when there are such."""
    from kernelwright.cli.lessons_text import list_text
    from kernelwright.errors import UnknownName
    from kernelwright.promptopt.likeness import conflicts
    from kernelwright.records import LessonState

    if state and state not in list(LessonState):
        raise UnknownName("state", state, list(LessonState))
    _, shelf = opened(workspace)
    rows = [
        x
        for x in shelf.lessons
        if x.state == (state or x.state) and (not family or not x.scope.families or family in x.scope.families)
    ]
    pairs = conflicts(shelf.lessons)
    if json_:
        problems = [{"file": str(p.file), "kind": p.kind, "message": p.message} for p in shelf.problems]
        told = {"lessons": [x.to_json() for x in rows], "problems": problems}
        print_json({"format": "kernelwright/lessons/1", **told, "conflicts": [asdict(c) for c in pairs]})
    else:
        say(list_text(rows, shelf.problems, pairs))
    raise typer.Exit(1 if shelf.problems else 0)


@app.command()
def show(id: IdArgument, json_: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """One lesson: its words, scope, state, evidence and effect."""
    from kernelwright.cli.lessons_text import show_text

    _, shelf = opened(workspace)
    lesson = shelf.get(id)
    if json_:
        print_json({**lesson.to_json(), "file": str(shelf.file(lesson.id)), "sentence": lesson.sentence})
    else:
        say(show_text(lesson, shelf.file(lesson.id)))


@app.command()
def why(id: IdArgument, json_: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """Each decision for and against a lesson, with its numbers."""
    from kernelwright.cli.lessons_text import why_text
    from kernelwright.promptopt.counting import Counter

    place, shelf = opened(workspace)
    lesson = shelf.get(id)
    if lesson.technique:
        lesson = lesson.model_copy(update={"evidence": Counter(observations(place)).count(lesson)})
    if json_:
        effect = lesson.effect.to_json() if lesson.effect else None
        print_json({"id": lesson.id, "evidence": lesson.evidence.to_json(), "effect": effect})
    else:
        say(why_text(lesson))


@app.command()
def history(id: IdArgument, json_: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """What became of a lesson: each change with its reason."""
    _, shelf = opened(workspace)
    lesson = shelf.get(id)
    if json_:
        print_json({"id": lesson.id, "history": [c.model_dump(mode="json") for c in lesson.history]})
    else:
        lines = [f"{c.at[:19]}  {c.what:<24} {c.reason}" + (f"  ({c.by})" if c.by else "") for c in lesson.history]
        say("\n".join([lesson.id, *(lines or ["no changes on record"])]))


@app.command()
def retire(
    id: IdArgument,
    reason: ReasonOption,
    by: ByOption = "user",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Show a lesson no more; it stays in the files, and the rules do not bring it back."""
    from kernelwright.promptopt.shelves import moved
    from kernelwright.records import LessonState

    place, shelf = opened(workspace)
    _changed(place, shelf, moved(shelf.get(id), LessonState.RETIRED, reason=reason, by=by), reason, json_)


@app.command()
def edit(
    id: IdArgument,
    reason: ReasonOption,
    when: Annotated[str, typer.Option(help="New words.")] = "",
    do: Annotated[str, typer.Option(help="New words.")] = "",
    avoid: Annotated[str, typer.Option(help="New words.")] = "",
    state: Annotated[str, typer.Option(help="proposed, active, disputed or retired.")] = "",
    scope: Annotated[list[str] | None, typer.Option(help="e.g. families=softmax,norm. Repeatable.")] = None,
    role: Annotated[list[str] | None, typer.Option("--role", help="Whose prompts may show it. Repeatable.")] = None,
    by: ByOption = "user",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Change a lesson's words, roles, scope or state. A shipped one is copied to your workspace first."""
    from kernelwright.errors import UnknownName
    from kernelwright.promptopt.editing import edited
    from kernelwright.promptopt.versions import roles

    place, shelf = opened(workspace)
    words: dict[str, Any] = {name: text for name, text in (("when", when), ("do", do), ("avoid", avoid)) if text}
    if role:
        known = roles(place.prompts)
        for name in role:
            if name not in known:
                raise UnknownName("role", name, known)
        words["roles"] = tuple(dict.fromkeys(role))
    lesson = edited(shelf.get(id), words, scope=scope or (), state=state, reason=reason, by=by)
    _changed(place, shelf, lesson, reason, json_)


@app.command()
def distill(
    model: ModelOption = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be proposed; write nothing.")] = False,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Propose lessons from finished runs and the library's ladders, recount all, and move states by the rules."""
    from kernelwright.cli.lessons_text import upkeep_text
    from kernelwright.memory.knowledge_pages import load_techniques
    from kernelwright.promptopt.learning import learn, read_by_model
    from kernelwright.promptopt.statistics_distiller import distilled

    place, _ = opened(workspace)
    seen = observations(place)
    proposals, refused = distilled(seen, load_techniques()[0]), []
    if model:
        from kernelwright.config import load_config

        values = {"models.model": model}
        read = read_by_model(place, load_config(files=config or (), overrides=option or (), values=values), seen)
        proposals, refused = [*proposals, *read.lessons], read.refused
    if dry_run:
        told = [x.to_json() for x in proposals]
        print_json(told) if json_ else say("\n".join(f"{x.id}: {x.sentence}" for x in proposals))
        return
    report, made = learn(place, seen, proposals)
    report.refused += refused
    if json_:
        print_json({"format": "kernelwright/distill/1", **asdict(report), "versions": [v.id for v in made]})
    else:
        say(upkeep_text(report, made, decisions=len(seen)))


def observations(place: Workspace) -> list[Observation]:
    """All decisions that were judged in full: of the workspace's runs and of the library."""
    from kernelwright import wiring

    return wiring.evidence(place, wiring.library(place)).observations()


def _changed(place: Workspace, shelf: LessonShelf, lesson: Lesson, reason: str, json_: bool) -> None:
    """Write a lesson, and a version of every prompt that showed it or now does."""
    from kernelwright.promptopt.learning import alone
    from kernelwright.promptopt.versions import follow_all

    with alone(place.cache):
        file = shelf.save(lesson)
        shelf.reload()  # others may have learned since
        made = follow_all(place.prompts, shelf.active, reason=f"{lesson.id}: {reason}")
    if json_:
        told: dict[str, Any] = {"id": lesson.id, "state": lesson.state.value, "file": str(file)}
        print_json({**told, "versions": [v.id for v in made]})
    else:
        say(f"{lesson.id}: {lesson.state}; {file}")
        for version in made:
            note(f"{version.role} now uses {version.id}")
