"""An optimization from plan to version; trials as runs; ablation; the proposer over a desk."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from promptopt.proving import pool_of
from promptopt.test_book import knowledge
from promptopt.world import World

from kernelwright.agents.llm.desk import ModelDesk, RoleModel, RunLink
from kernelwright.agents.llm.scripted import ScriptedProvider
from kernelwright.config import load_config
from kernelwright.errors import UserError
from kernelwright.promptopt.ablation import ablate_lesson, keep_ablation
from kernelwright.promptopt.blame import blame
from kernelwright.promptopt.journal import Journal, Limits, Step
from kernelwright.promptopt.optimizing import Wanted, optimize_prompt
from kernelwright.promptopt.run_trials import FixedPrompts, RunTrials, result_of
from kernelwright.promptopt.shelves import LessonShelf
from kernelwright.promptopt.trials import FAILED, TrialRequest, score_of
from kernelwright.promptopt.versions import PromptStore
from kernelwright.records import Ratio, RunSummary, Task
from kernelwright.workspace import Workspace


class WorldRuns:
    """Runs whose best speed-up the simulated world draws: real run folders, no judge."""

    def __init__(self, world: World, *, dies_after: int = 10**9) -> None:
        self.world, self.started, self.dies_after = world, 0, dies_after

    def __call__(self, place: Workspace, task: str, book: FixedPrompts, seed: int) -> RunSummary:
        self.started += 1
        if self.started > self.dies_after:
            raise KeyboardInterrupt
        text = book.prompt("coder", knowledge()).text
        speed = 2.718281828 ** self.world.score(text, task, str(seed))
        best = Ratio(value=speed, low=speed, high=speed, pairs=9, against="eager")
        folder = place.new_run("any")
        summary = RunSummary(
            run_id=folder.run_id, task_name="any", task_id="any", engine="llm", state="finished", best=best,
            seconds=1.0, measurements=2,
        )  # fmt: skip
        folder.save(summary, folder.summary_file)
        return summary


def tasks_of(world: World) -> dict[str, Task]:
    names = [t for part in world.split.values() for t in part]
    fields = {"reference": "class Model: ...", "licence": "Apache-2.0", "source": "test"}
    return {n: Task(name="some", family=n.partition("/")[0], **fields) for n in names}


def desk_at(script: Path, answers: list[object]) -> object:
    script.write_text(yaml.safe_dump(answers))

    def open_(calls: Path) -> ModelDesk:
        config = load_config()
        desk = ModelDesk({"proposer": RoleModel("scripted:x", ScriptedProvider(script))}, config.models, config.budget)
        desk.bind(RunLink("proposals", calls, left_s=lambda: 99.0, stopped=lambda: False))
        return desk

    return open_


def prepared(tmp_path: Path, world: World) -> Workspace:
    place = Workspace.open(tmp_path)
    LessonShelf(place.lessons, with_shipped=False).save_all(pool_of(world))
    PromptStore(place.prompts, "coder").started(world.seed_prompt)
    return place


def test_an_optimization_becomes_versions_and_goes_on_after_an_interruption(tmp_path: Path) -> None:
    world = World(11)
    place = prepared(tmp_path, world)
    answers: list[object] = [
        "Reason: be bold\n<prompt>Return the reference whenever you are stuck with a kernel.</prompt>",
        "Reason: cut\n<prompt>Write the fastest kernel that you can and then",
    ]
    strong = tuple(f"lesson-p{n:02d}" for n in range(6, 13))
    wanted = Wanted("coder", rewrites=2, model="scripted:x", seed=11, lessons=strong)
    desk = desk_at(tmp_path / "script.yaml", answers)
    killed = WorldRuns(world, dies_after=50)
    with pytest.raises(KeyboardInterrupt):
        optimize_prompt(place, tasks_of(world), wanted, Limits(trials=160), start=killed, desk=desk)  # type: ignore[arg-type]
    rest = WorldRuns(world)
    done = optimize_prompt(place, tasks_of(world), wanted, Limits(trials=160), start=rest, desk=desk)  # type: ignore[arg-type]
    assert 50 + rest.started == done.optimized.spent.trials <= 160, "no trial was paid for twice"
    store = PromptStore(place.prompts, "coder")
    assert done.version is not None and store.current == done.version
    rejected = [v for v in store.lineage.versions.values() if v.state == "rejected"]
    assert {"games the judge" in v.rejected_because for v in rejected} == {True, False}
    assert any("truncated" in v.rejected_because for v in rejected) and all(v.session == done.session for v in rejected)
    assert [s.split for s in store.lineage.scores(done.version.id)] == ["validation", "held_out", "remeasured"]
    assert any(b.origin == "lesson" for b in blame(store, done.version.id, {}))
    shelf = LessonShelf(place.lessons, with_shipped=False)
    screened = [shelf.get(id) for id in strong]
    assert all(x.effect is not None and x.effect.method == "screening" for x in screened)
    told = {x.id for x in LessonShelf(place.lessons).active}
    assert told == set(done.version.lessons) >= {x.id for x in shelf.active}, "what is promoted is what runs are told"
    again = WorldRuns(world)
    second = PromptStore(place.prompts, "coder").lineage
    assert len(second.versions) == len(store.lineage.versions) and again.started == 0
    assert "re-measured on held-out" in second.events[-1].reason and done.to_json()["promoted"] in done.text()


def test_a_plan_whose_gates_could_never_speak_is_refused_unpaid(tmp_path: Path) -> None:
    world = World(11)
    place = prepared(tmp_path, world)
    tasks, runs = tasks_of(world), WorldRuns(world)
    for wanted, trials, words in (
        (Wanted("coder", rewrites=2, model="scripted:x"), 20, "48 or more"),
        (Wanted("coder", rewrites=1, model="scripted:x", screen=False), 20, "24 or more"),
        (Wanted("coder", screen=False), 400, "--rewrites"),
        (Wanted("coder", optimizer="gepa", model="scripted:x"), 40, "64 or more"),
    ):
        with pytest.raises(UserError) as told:
            optimize_prompt(place, tasks, wanted, Limits(trials=trials), start=runs, desk=None)  # type: ignore[arg-type]
        assert words in (told.value.hint or ""), told.value
    assert runs.started == 0


def test_rewrites_alone_need_no_lessons_and_are_told_step_by_step(tmp_path: Path) -> None:
    """The honest rewrite brings a true principle into the base text; measurements end what is not paid for."""
    world = World(11)
    place = prepared(tmp_path, world)
    best = next(p.text for p in world.principles if p.id == "p12")
    desk = desk_at(tmp_path / "script.yaml", [f"Reason: waste\n<prompt>{world.seed_prompt} {best}</prompt>"])
    wanted = Wanted("coder", rewrites=1, model="scripted:x", screen=False)
    steps: list[Step] = []
    told = steps.append
    few = Limits(trials=200, measurements=30)
    tasks, start = tasks_of(world), WorldRuns(world)
    done = optimize_prompt(place, tasks, wanted, few, start=start, desk=desk, told=told)  # type: ignore[arg-type]
    assert "out of budget: measurements: 30 of 30" in done.optimized.ended and done.version is None
    assert start.started == 15 and [s.what for s in steps].count("trial") == 30, "each is told when it begins and ends"
    assert all(not p.accepted for p in done.optimized.proposals)
    more = Limits(trials=200, measurements=1000)
    done = optimize_prompt(place, tasks, wanted, more, start=start, desk=desk, told=told)  # type: ignore[arg-type]
    assert any(s.what == "resumed" and s.spent.measurements >= 30 for s in steps)
    assert done.optimized.ended == "finished" and start.started == done.optimized.spent.trials
    assert not done.optimized.effects, "nothing was screened"


def test_what_a_limit_left_undecided_is_decided_with_a_higher_one(tmp_path: Path) -> None:
    """Validation has passed and held-out has not spoken: that is no rejection, else it could never be promoted."""
    world = World(11)
    place = prepared(tmp_path, world)
    best = " ".join(p.text for p in world.principles if p.id in ("p09", "p10", "p11", "p12"))
    desk = desk_at(tmp_path / "script.yaml", [f"Reason: waste\n<prompt>{world.seed_prompt} {best}</prompt>"])
    wanted = Wanted("coder", rewrites=1, model="scripted:x", screen=False)
    tasks, start = tasks_of(world), WorldRuns(world)
    few = Limits(trials=200, measurements=50)
    done = optimize_prompt(place, tasks, wanted, few, start=start, desk=desk)  # type: ignore[arg-type]
    (proposal,) = done.optimized.proposals
    assert proposal.undecided and not proposal.accepted and "undecided  text: waste" in done.text()
    assert done.version is None and len(PromptStore(place.prompts, "coder").lineage.versions) == 1, "the seed alone"
    more = Limits(trials=200, measurements=1000)
    done = optimize_prompt(place, tasks, wanted, more, start=start, desk=desk)  # type: ignore[arg-type]
    store = PromptStore(place.prompts, "coder")
    assert done.version is not None and store.current == done.version and done.version.state == "accepted"
    assert start.started == done.optimized.spent.trials == 56


def test_fewer_than_three_families_are_refused(tmp_path: Path) -> None:
    world = World(1)
    place = prepared(tmp_path, world)
    few = {n: t for n, t in tasks_of(world).items() if t.family in ("scan", "norm")}
    with pytest.raises(UserError, match="three op families"):
        optimize_prompt(place, few, Wanted("coder"), Limits(trials=50), start=WorldRuns(world), desk=None)  # type: ignore[arg-type]


def test_an_ablation_becomes_the_lessons_effect(tmp_path: Path) -> None:
    world = World(5)
    place = Workspace.open(tmp_path)
    shelf = LessonShelf(place.lessons, with_shipped=False)
    pool = {x.do: x for x in pool_of(world)}
    good, idle = (pool[next(p.text for p in world.principles if p.id == id)] for id in ("p12", "n01"))
    shelf.save_all([good, idle])
    journal = Journal(RunTrials(tmp_path / "o", "coder", WorldRuns(world)), Limits(), file=tmp_path / "j.jsonl")
    tasks = world.split["train"]
    for lesson, helps in ((good, True), (idle, False)):
        found = ablate_lesson(
            journal, world.seed_prompt, [good, idle], lesson.id, tasks, 48, families={t: t[:4] for t in tasks}
        )
        kept = keep_ablation(shelf, lesson.id, found)
        assert kept.effect is not None and kept.effect.method == "ablation"
        assert (kept.effect.low > 0) is helps and kept.history[-1].what == "ablated"


def test_a_run_that_found_nothing_scores_worse_than_any_that_is_right(tmp_path: Path) -> None:
    place = Workspace.open(tmp_path)
    folder = place.new_run("any")
    nothing = RunSummary(run_id=folder.run_id, task_name="any", task_id="any", engine="llm", state="finished")
    assert result_of(nothing, folder).score == FAILED
    slow = nothing.model_copy(update={"best": Ratio(value=0.1, low=0.1, high=0.1, pairs=3, against="eager")})
    assert result_of(slow, folder).score > FAILED
    trials = RunTrials(tmp_path / "o", "coder", WorldRuns(World(0)))
    request = TrialRequest("some prompt", "scan/0")
    assert trials.recorded(request) is None
    assert trials.run(request) == trials.recorded(request)


def test_right_goes_before_fast_and_fast_before_cheap() -> None:
    def ratio(value: float) -> Ratio:
        return Ratio(value=value, low=value, high=value, pairs=3, against="eager")

    dear, cheap = 50.0, 0.001
    assert score_of(ratio(0.01), cost_usd=dear) > score_of(None, cost_usd=0.0)
    assert score_of(ratio(1.03), cost_usd=dear) > score_of(ratio(1.0), cost_usd=cheap)
    assert score_of(ratio(1.5), cost_usd=cheap) > score_of(ratio(1.5), cost_usd=dear)
    assert score_of(ratio(1000.0)) == score_of(ratio(500.0)), "one lucky task does not decide"


def test_a_run_whose_budget_ended_before_anything_was_judged_is_no_word_on_its_prompt(tmp_path: Path) -> None:
    """It has no score, and with more to spend the same trial is made."""
    world = World(0)

    def starved(place: Workspace, task: str, book: FixedPrompts, seed: int) -> RunSummary:
        folder = place.new_run("any")
        summary = RunSummary(
            run_id=folder.run_id, task_name="any", task_id="t", engine="llm", state="finished", reason="budget: time"
        )
        folder.save(summary, folder.summary_file)
        return summary

    request = TrialRequest("some prompt", "scan/0")
    poor = RunTrials(tmp_path / "o", "coder", starved)
    with pytest.raises(UserError, match="before a kernel was judged"):
        Journal(poor, Limits()).trial(request)
    assert poor.recorded(request) is None
    assert Journal(RunTrials(tmp_path / "o", "coder", WorldRuns(world)), Limits()).trial(request).score > FAILED


def test_a_trial_that_was_stopped_has_no_score(tmp_path: Path) -> None:
    """Ctrl-C during a trial says nothing about a prompt: it is gone on with, not counted as a failure."""

    def stopped(place: Workspace, task: str, book: FixedPrompts, seed: int) -> RunSummary:
        folder = place.new_run("any")
        summary = RunSummary(
            run_id=folder.run_id, task_name="any", task_id="t", engine="llm", state="stopped", reason="interrupted"
        )
        folder.save(summary, folder.summary_file)
        return summary

    journal = Journal(RunTrials(tmp_path / "o", "coder", stopped), Limits(), file=tmp_path / "j.jsonl")
    with pytest.raises(UserError, match="interrupted"):
        journal.trial(TrialRequest("some prompt", "scan/0"))
    assert journal.spent.trials == 0 and not (tmp_path / "j.jsonl").exists()
