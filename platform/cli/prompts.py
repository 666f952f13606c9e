"""prompts list | log | show | diff | blame | score | promote | rollback | export. Decided in ``promptopt/``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli.output import JsonOption, WorkspaceOption, note, print_json, say
from kernelwright.records.wording import format_count

if TYPE_CHECKING:
    from kernelwright.promptopt.versions import PromptStore

app = typer.Typer(help="Prompts: their versions, what changed, what it was worth, and why.", no_args_is_help=True)

RoleOption = Annotated[str, typer.Option("--role", "-r", help="planner, coder, repairer or reflector.")]
VersionArgument = Annotated[str, typer.Argument(help="Id of a version, a start of it, or `current`.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for the history.")]
ByOption = Annotated[str, typer.Option("--by", help="Who, for the history.")]


def store_of(workspace: Path | None, role: str) -> PromptStore:
    """The versions of a role."""
    from kernelwright.errors import UnknownName
    from kernelwright.promptopt.versions import PromptStore, roles
    from kernelwright.workspace import Workspace

    root = Workspace.open(workspace).prompts
    known = roles(root)
    if role not in known:
        raise UnknownName("role", role, known)
    return PromptStore(root, role)


@app.command("list")
def list_(json_: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """The roles with the version in use; files that cannot be used with what is wrong. Exit 1 when there are such."""
    from kernelwright.cli.prompts_text import roles_text
    from kernelwright.promptopt.versions import PromptStore, roles
    from kernelwright.workspace import Workspace

    root = Workspace.open(workspace).prompts
    stores = [PromptStore(root, role) for role in roles(root)]
    if json_:
        rows = [
            {
                "role": s.role,
                "current": s.lineage.current or None,
                "versions": len(s.lineage.versions),
                "problems": [asdict(p) for p in s.lineage.problems],
            }
            for s in stores
        ]
        print_json({"format": "kernelwright/prompts/1", "roles": rows})
    else:
        say(roles_text(stores))
    raise typer.Exit(1 if any(s.lineage.problems for s in stores) else 0)


@app.command()
def log(
    role: RoleOption = "coder",
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="The newest so many; 0: all.")] = 0,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """The lineage as a tree with scores, accepted and rejected, oldest first."""
    from kernelwright.cli.prompts_text import log_text

    lineage = store_of(workspace, role).lineage
    if json_:
        versions = [
            {**v.to_json(), "scores": [s.model_dump(mode="json") for s in lineage.scores(v.id)]}
            for v in lineage.versions.values()
        ]
        told = {"current": lineage.current or None, "events": [e.to_json() for e in lineage.events]}
        problems = [asdict(p) for p in lineage.problems]
        print_json({"role": role, **told, "versions": versions[-limit:], "problems": problems})
    else:
        say(log_text(lineage, limit=limit))


@app.command()
def show(
    version: VersionArgument = "current",
    role: RoleOption = "coder",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """A version's text: base text and active lessons. Before the first version, the shipped text."""
    from kernelwright.promptopt.versions import seed_text

    store = store_of(workspace, role)
    if version == "current" and store.current is None:
        print_json({"role": role, "id": None, "text": seed_text(role)}) if json_ else say(seed_text(role).rstrip())
        return
    found = store.get(version)
    text = store.text(found.id)
    print_json({**found.to_json(), "text": text}) if json_ else say(text.rstrip())


@app.command()
def diff(
    old: VersionArgument,
    new: VersionArgument = "current",
    role: RoleOption = "coder",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Word by word between any two versions, with the change of score by task family, as far as it was measured."""
    from kernelwright.cli.prompts_text import change_text
    from kernelwright.promptopt.score_changes import score_change
    from kernelwright.promptopt.wordwise import marked, word_diff

    store = store_of(workspace, role)
    one, other = store.get(old), store.get(new)
    pieces = word_diff(store.text(one.id), store.text(other.id))
    change = score_change(store.lineage, one.id, other.id)
    if json_:
        told = {"old": one.id, "new": other.id, "pieces": [asdict(p) for p in pieces]}
        steps = [
            {**s.score.model_dump(mode="json"), "version": s.version, "against": s.against, "backwards": s.backwards}
            for s in change.steps
        ]
        families = {name: asdict(c) for name, c in change.families.items()}
        print_json({**told, "scores": steps, "families": families, "unmeasured": change.unmeasured})
        return
    say(f"{one.id} -> {other.id}\n\n{marked(pieces).rstrip()}\n")
    say(change_text(change))


@app.command()
def blame(
    version: VersionArgument = "current",
    role: RoleOption = "coder",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """For each sentence: the lesson with its decisions, or the proposal and its feedback, and since which version."""
    from kernelwright.cli.prompts_text import blame_text
    from kernelwright.promptopt.blame import blame as blamed
    from kernelwright.promptopt.shelves import LessonShelf
    from kernelwright.workspace import Workspace

    store = store_of(workspace, role)
    shelf = LessonShelf(Workspace.open(workspace).lessons)
    found = blamed(store, version, {x.id: x for x in shelf.lessons})
    print_json([asdict(b) for b in found]) if json_ else say(blame_text(found))


@app.command()
def score(
    version: VersionArgument = "current",
    role: RoleOption = "coder",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Every measured score of a version: against its parent, or against the version that is named."""
    from kernelwright.cli.prompts_text import score_text

    store = store_of(workspace, role)
    found = store.get(version)
    scores = store.lineage.scores(found.id)
    if json_:
        print_json({"version": found.id, "scores": [s.model_dump(mode="json") for s in scores]})
    else:
        lines = [score_text(s, families=True) for s in scores]
        say("\n".join([f"{found.id} against {found.parent or 'nothing'}", *(lines or ["never measured"])]))


@app.command()
def promote(
    version: Annotated[str, typer.Argument(help="Id of a version; leave it out with --file.")] = "",
    reason: ReasonOption = "by hand",
    file: Annotated[Path | None, typer.Option(help="Make a version of this text first.")] = None,
    role: RoleOption = "coder",
    by: ByOption = "user",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Use a version from now on, with none but its lessons; with --file an edited text becomes one."""
    from kernelwright.errors import UserError
    from kernelwright.promptopt.shelves import LessonShelf
    from kernelwright.promptopt.versions import of_file
    from kernelwright.workspace import Workspace

    if (file is None) == (not version):
        raise UserError("name a version, or a text with --file")
    store = store_of(workspace, role)
    if file is not None:
        shelf = LessonShelf(Workspace.open(workspace).lessons)
        version = of_file(store, file, shelf.active, reason=reason).id
    _use(workspace, role, version, reason=reason, by=by, back=False, json_=json_)


@app.command()
def rollback(
    to: Annotated[str, typer.Option(help="A version; default: the one in use before.")] = "",
    reason: ReasonOption = "by hand",
    role: RoleOption = "coder",
    by: ByOption = "user",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Use the version from before: its text, and none but its lessons. No lesson's state changes by it."""
    store_of(workspace, role)
    _use(workspace, role, to, reason=reason, by=by, back=True, json_=json_)


def _use(workspace: Path | None, role: str, version: str, *, reason: str, by: str, back: bool, json_: bool) -> None:
    from kernelwright.cli.prompts_text import restored_text
    from kernelwright.promptopt.restoring import restore
    from kernelwright.workspace import Workspace

    made = restore(Workspace.open(workspace), role, version, reason=reason, by=by, back=back)
    for line in restored_text(made):
        note(line)
    if json_:
        told = {name: list(getattr(made, name)) for name in ("taken", "given", "inactive", "reworded")}
        print_json({"role": role, "current": made.version.id, "asked": made.asked.id, **told})
    else:
        say(f"{role} now uses {made.version.id}")


@app.command()
def export(
    into: Annotated[Path, typer.Argument(help="A folder; made if missing.")],
    version: Annotated[str, typer.Option(help="A version, or `current`.")] = "current",
    role: RoleOption = "coder",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Write a version into a folder: its text with the lessons as it showed them, its record, the lessons' files."""
    from kernelwright.promptopt.shelves import LessonShelf
    from kernelwright.promptopt.versions import export_version
    from kernelwright.workspace import Workspace

    store = store_of(workspace, role)
    shelf = LessonShelf(Workspace.open(workspace).lessons)
    files = export_version(store, version, shelf.lessons, into)
    if json_:
        print_json([str(f) for f in files])
    else:
        note(format_count(len(files), "file"))
        say("\n".join(str(f) for f in files))
