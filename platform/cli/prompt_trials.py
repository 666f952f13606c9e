"""prompts optimize | compare and lessons ablate: paid trials, each of them a run of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli import lessons, prompts
from kernelwright.cli.output import ConfigOption, JsonOption, OptionOption, WorkspaceOption, note, print_json, say
from kernelwright.records.wording import format_count

if TYPE_CHECKING:
    from kernelwright.config import RunConfig
    from kernelwright.promptopt.journal import Journal, Limits
    from kernelwright.promptopt.run_trials import FixedPrompts
    from kernelwright.records import RunSummary
    from kernelwright.workspace import Workspace

TaskOption = Annotated[list[str], typer.Option("--task", "-t", help="A task. Repeatable.")]
ModelOption = Annotated[str, typer.Option("--model", "-m", help="openai/NAME, relay:DIR or scripted:FILE.")]
PairsOption = Annotated[int, typer.Option("--pairs", min=2, help="Pairs of runs; they go round the tasks.")]
MoneyOption = Annotated[float, typer.Option("--cost-usd", min=0, help="Most money; 0: no limit.")]
TokensOption = Annotated[int, typer.Option("--tokens", min=0, help="Most tokens; 0: no limit.")]
SecondsOption = Annotated[float, typer.Option("--seconds", min=0, help="Most wall time of trials; 0: no limit.")]
MeasurementsOption = Annotated[
    int, typer.Option("--measurements", min=0, help="Most measurements of all runs together; 0: no limit.")
]
ConfirmOption = Annotated[
    bool, typer.Option("--confirm", help="Confirm each run's winner in fresh processes: slower, and less noisy.")
]


@prompts.app.command()
def optimize(
    task: TaskOption,
    model: ModelOption,
    role: prompts.RoleOption = "coder",
    trials: Annotated[int, typer.Option(min=20, help="Runs to plan with.")] = 100,
    rewrites: Annotated[int, typer.Option(min=0, help="Proposals of a new base text by the model.")] = 2,
    optimizer: Annotated[str, typer.Option(help="evidence (ours) or gepa (DSPy's).")] = "evidence",
    lesson: Annotated[list[str] | None, typer.Option("--lesson", help="Screen only these. Repeatable.")] = None,
    screen: Annotated[bool, typer.Option("--screen/--no-screen", help="Try lessons, or rewrites only.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the designs and draws.")] = 0,
    cost_usd: MoneyOption = 0.0,
    tokens: TokensOption = 0,
    seconds: SecondsOption = 0.0,
    measurements: MeasurementsOption = 0,
    confirm: ConfirmOption = False,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Improve a role's prompt on tasks of three families or more; the same command resumes. Exit 1: none promoted."""
    from kernelwright.cli.prompts_text import Progress
    from kernelwright.promptopt.journal import Limits
    from kernelwright.promptopt.optimizing import Wanted, optimize_prompt

    limits = Limits(trials=trials, cost_usd=cost_usd, tokens=tokens, seconds=seconds, measurements=measurements)
    setting = _setting(workspace, task, model, config, option, confirm=confirm).within(limits)
    wanted = Wanted(role, optimizer, model, rewrites, seed, tuple(lesson or ()), screen)
    done = optimize_prompt(
        setting.place, setting.tasks, wanted, limits, start=setting.start, desk=setting.desk,
        told=Progress(note, limits),
    )  # fmt: skip
    if json_:
        print_json(done.to_json())
    else:
        say(done.text())
    raise typer.Exit(0 if done.version else 1)


@prompts.app.command()
def compare(
    old: prompts.VersionArgument,
    new: prompts.VersionArgument,
    task: TaskOption,
    model: ModelOption,
    role: prompts.RoleOption = "coder",
    pairs: PairsOption = 8,
    cost_usd: MoneyOption = 0.0,
    measurements: MeasurementsOption = 0,
    confirm: ConfirmOption = False,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Two versions in paired runs on the same tasks; the result is kept in the lineage. Exit 1: no difference shown."""
    from kernelwright.promptopt.ablation import compare_prompts, keep_comparison
    from kernelwright.promptopt.journal import Limits
    from kernelwright.promptopt.versions import PromptStore

    limits = Limits(trials=2 * pairs, cost_usd=cost_usd, measurements=measurements)
    setting = _setting(workspace, task, model, config, option, confirm=confirm).within(limits)
    store = PromptStore(setting.place.prompts, role)
    one, other = store.get(old), store.get(new)
    texts = store.text(one.id), store.text(other.id)
    with _journal(setting, role, f"compare-{one.id}-{other.id}", texts, limits) as journal:
        found = compare_prompts(journal, *texts, list(task), pairs, setting.families)
        keep_comparison(store, one.id, other.id, found)
    _tell(found, f"{other.id} against {one.id}", json_)


@lessons.app.command()
def ablate(
    id: lessons.IdArgument,
    task: TaskOption,
    model: ModelOption,
    role: prompts.RoleOption = "coder",
    pairs: PairsOption = 8,
    cost_usd: MoneyOption = 0.0,
    measurements: MeasurementsOption = 0,
    confirm: ConfirmOption = False,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Paired runs with and without a lesson; the result becomes its effect. Exit 1: no difference shown."""
    from kernelwright.promptopt.ablation import ablate_lesson, keep_ablation
    from kernelwright.promptopt.journal import Limits
    from kernelwright.promptopt.selection import lessons_block
    from kernelwright.promptopt.sessions import draft_of
    from kernelwright.promptopt.shelves import LessonShelf
    from kernelwright.promptopt.versions import PromptStore

    limits = Limits(trials=2 * pairs, cost_usd=cost_usd, measurements=measurements)
    setting = _setting(workspace, task, model, config, option, confirm=confirm).within(limits)
    shelf = LessonShelf(setting.place.lessons)
    lesson = shelf.get(id)
    draft = draft_of(PromptStore(setting.place.prompts, role), shelf.active)
    shown = [*(x for x in draft.lessons if x.id != lesson.id), lesson]
    with _journal(setting, role, f"ablate-{lesson.id}", (draft.base, lessons_block(shown)), limits) as journal:
        found = ablate_lesson(journal, draft.base, shown, lesson.id, list(task), pairs, families=setting.families)
        keep_ablation(shelf, lesson.id, found)
    _tell(found, f"with {lesson.id} against without", json_)


class _Setting:
    """What paid trials need: the workspace, tasks with their families, and how a run is started."""

    def __init__(self, place: Workspace, tasks: dict[str, Any], config: RunConfig) -> None:
        self.place, self.tasks, self.config = place, tasks, config
        self.families = {name: task.family for name, task in tasks.items()}

    def within(self, limits: Limits) -> _Setting:
        """No single run may spend more than all of them; a limit of money needs the model's price, as in any run."""
        budget = self.config.budget
        wanted: dict[str, Any] = {}
        for name in ("cost_usd", "tokens"):
            given = [v for v in (getattr(budget, name), getattr(limits, name)) if v]
            wanted[name] = min(given, default=0)
        self.config = self.config.model_copy(update={"budget": budget.model_copy(update=wanted)})
        return self

    def start(self, place: Workspace, task: str, book: FixedPrompts, seed: int) -> RunSummary:
        """Start a run with a book of prompts, or go on with the one that is there."""
        from kernelwright import wiring
        from kernelwright.agents.running import resume_run, start_run

        place.cache = self.place.cache  # baselines and builds are the same for every trial
        around = wiring.surroundings(place, lambda event: None)
        around = replace(around, roles=lambda config: wiring.roles(config, place, book))
        if (ids := place.run_ids()) and not place.run(ids[-1]).is_over():
            return resume_run(place.run(ids[-1]), surroundings=around)
        config = self.config.model_copy(update={"seed": seed % 2**31})
        return start_run(place, self.tasks[task], config, surroundings=around, command="kernelwright prompts")

    def desk(self, calls: Path) -> Any:
        """A desk for the proposer, with its own folder of calls."""
        from kernelwright.promptopt.learning import own_desk

        return own_desk(self.config, "proposer", calls)


def _setting(
    workspace: Path | None, tasks: list[str], model: str, config: list[Path] | None, option: list[str] | None,
    *, confirm: bool,
) -> _Setting:
    from kernelwright import wiring
    from kernelwright.config import load_config
    from kernelwright.workspace import Workspace

    place = Workspace.open(workspace)
    values = {"models.model": model, "engine": "llm", "judge.confirm": confirm}
    return _Setting(
        place,
        {name: wiring.find_task(place, name) for name in tasks},
        load_config(files=config or (), overrides=option or (), values=values),
    )


@contextmanager
def _journal(setting: _Setting, role: str, name: str, texts: Sequence[str], limits: Limits) -> Iterator[Journal]:
    """The journal of one comparison, held by this process. A limit that is reached is the user's to raise.

    Other texts, tasks, another model or another kind of run make it another comparison, with a folder of its own.
    """
    from kernelwright.cli.prompts_text import Progress
    from kernelwright.errors import UserError
    from kernelwright.promptopt.journal import Journal, OutOfBudget, owned
    from kernelwright.promptopt.run_trials import GO_ON, RunTrials
    from kernelwright.records import content_hash

    how = [*texts, *setting.tasks, setting.config.models.model, str(setting.config.judge.confirm)]
    folder = setting.place.optimizations / f"{name}-{content_hash(how, length=8)}"
    with owned(folder):
        runner = RunTrials(folder, role, setting.start)
        try:
            yield Journal(runner, limits, file=folder / "journal.jsonl", told=Progress(note, limits))
        except OutOfBudget as reached:
            raise UserError(f"out of budget: {reached}", hint=f"with a higher limit {GO_ON}") from None


def _tell(found: Any, what: str, json_: bool) -> None:
    from kernelwright.cli.prompts_text import score_text

    if json_:
        print_json({"score": found.score.model_dump(mode="json"), "spent": asdict(found.spent)})
    else:
        spent = found.spent
        say(f"{what}: {score_text(found.score, families=True)}")
        counts = f"{format_count(spent.trials, 'run')}, {format_count(spent.tokens, 'token')}"
        say(f"{counts}, {spent.cost_usd:.4f} USD, {spent.seconds:.0f} s")
    raise typer.Exit(0 if found.score.low > 0 or found.score.high < 0 else 1)
