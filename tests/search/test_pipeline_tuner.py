"""The tuner of pipelines: tunables first, then schedules; in its budget; only what is faster than noise wins."""

import itertools

import optuna  # noqa: F401  the tuner imports it in a thread, which must not outlive a short test session
from fakes.records import a_candidate, a_failure, an_evaluation
from search.pipelines import made
from search.references import task_facts

from kernelwright.protocols import Tuner, TuningBudget
from kernelwright.records import Depth, Status
from kernelwright.search.pipeline_tuner import PipelineTuner
from kernelwright.search.schedule_space import PipelineSpace
from kernelwright.search.tuner import OptunaTuner


def start():
    _, module, argument = made("softmax")
    return PipelineSpace().start(task_facts(module, [argument]))


class Screen:
    """Answers by the text of schedule.json."""

    def __init__(self, answer):
        self.answer, self.seen = answer, []

    def __call__(self, candidate):
        self.seen.append(candidate.id)
        score = self.answer(candidate)
        if score is None:
            return a_failure(candidate, Status.TIMEOUT, "scripted", depth=Depth.SCREEN)
        return an_evaluation(candidate, speedup=score, latency_us={"default": 100.0 / score}, depth=Depth.SCREEN)


def tune(candidate, answer, *, measurements=8, seconds=60.0, allowed=100):
    screen, trials = Screen(answer), []
    budget = TuningBudget(measurements=allowed, seconds=seconds)
    tuner: Tuner = PipelineTuner(OptunaTuner(), measurements=measurements)
    best = tuner.tune(candidate, screen=screen, budget=budget, seed=0, on_trial=trials.append)
    return best, screen, trials, budget


def test_a_faster_schedule_wins_and_every_screen_is_a_trial():
    ticks = itertools.count(1)
    best, screen, trials, budget = tune(start(), lambda c: 1.0 + next(ticks) / 10)
    assert len(trials) == len(screen.seen) == budget.spent_measurements == 8
    assert best.id == trials[-1].candidate_id != start().id and {t.sampler for t in trials} == {"schedule"}
    assert trials[0].candidate_id == start().id  # what there is comes first


def test_what_is_not_faster_than_noise_changes_nothing():
    assert tune(start(), lambda c: 1.0)[0].id == start().id


def test_failures_are_trials_too_and_the_start_stays():
    best, _, trials, _ = tune(start(), lambda c: 1.0 if c.id == start().id else None)
    assert best.id == start().id and [t.status for t in trials[1:]] == [Status.TIMEOUT] * 7


def test_it_stays_in_the_budget_of_the_run():
    assert len(tune(start(), lambda c: 1.0, allowed=3)[1].seen) == 3
    assert not tune(start(), lambda c: 1.0, seconds=0.0)[1].seen
    assert not tune(start(), lambda c: 1.0, measurements=0)[1].seen


def test_tunables_leave_schedules_their_share():
    _, module, argument = made("softmax")
    space = PipelineSpace()
    plain = space.start(task_facts(module, [argument]))
    rule = next(d for d in space.proposals(plain) if any("$" in str(a) for v in d.directives for a in v.args))
    best, screen, trials, budget = tune(space.apply(plain, rule.directives), lambda c: 1.0, measurements=3, allowed=9)
    assert [t.sampler == "schedule" for t in trials] == [False] * 6 + [True] * 3
    assert budget.spent_measurements == 9


def test_other_languages_pass_through():
    assert not tune(a_candidate(), lambda c: 1.0)[1].seen


def test_a_lucky_screen_is_judged_again_before_it_wins():
    begun = start()
    screen = Screen(lambda c: 1.0 if c.id == begun.id else 1.02)
    best = PipelineTuner(OptunaTuner(), measurements=6).tune(
        begun,
        screen=screen,
        budget=TuningBudget(measurements=50, seconds=60.0),
        seed=0,
        on_trial=lambda t: None,
        judge=lambda c: an_evaluation(c, speedup=1.0 if c.id == begun.id else 0.9),
    )
    assert best.id == begun.id
