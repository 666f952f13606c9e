"""DSPy's side of prompt optimization: our optimizer as a Teleprompter, and DSPy's GEPA behind our interface.

dspy is imported where it is used. Both keep every proposal, and both pay through the journal.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from kernelwright.errors import MissingTool, UserError
from kernelwright.promptopt.journal import Journal, Limits, OutOfBudget
from kernelwright.promptopt.optimizer import Draft, EvidenceOptimizer, Optimized, Proposal, Settings
from kernelwright.promptopt.screening import prompt_refusals
from kernelwright.promptopt.trials import (
    FAILED,
    FunctionRunner,
    ProposalRequest,
    Proposer,
    Split,
    TrialRequest,
    TrialResult,
)
from kernelwright.records import Lesson, Task

log = logging.getLogger(__name__)
T = TypeVar("T")

FEEDBACK_CHARACTERS = 8000
"""What GEPA's reflection reads at most."""
OVERSHOOT = 12
"""Calls that GEPA may make beyond its limit: it looks at the limit between batches only."""


def dspy_module() -> Any:
    """dspy, without its price list from the network and without its caches.

    Raises:
        MissingTool: it is not installed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import dspy
    except ImportError:
        raise MissingTool("this needs the package dspy", hint="pip install 'kernelwright[llm]'") from None
    return dspy


def evidence_teleprompter(settings: Settings, metric: Callable[..., Any], *, lessons: Sequence[Lesson] = ()) -> Any:
    """Our optimizer as a ``dspy.teleprompt.Teleprompter``.

    Its ``compile(student, trainset=, valset=, held_out=)`` returns the student with the promoted instructions, and with
    ``optimized`` (every proposal, effects, the re-measured gain). Examples may carry ``family``.

    Args:
        settings: the plan.
        metric: of DSPy: ``metric(example, prediction, trace=None)`` to a number, or to a score with feedback.
        lessons: the pool to screen.
    """
    dspy = dspy_module()

    class EvidenceTeleprompter(dspy.teleprompt.Teleprompter):  # type: ignore[misc, name-defined]
        def compile(self, student: Any, *, trainset: Any, valset: Any = None, held_out: Any = None, **_: Any) -> Any:
            parts = {"train": trainset, "validation": valset or trainset, "held_out": held_out or valset or trainset}
            examples = {f"{name}/{i}": example for name, part in parts.items() for i, example in enumerate(part)}
            names = {name: tuple(t for t in examples if t.startswith(f"{name}/")) for name in parts}
            families = {task: str(getattr(example, "family", task)) for task, example in examples.items()}
            runner = FunctionRunner(lambda request: _run_program(student, request, examples, metric))
            journal = Journal(runner, Limits(trials=settings.trials))
            seed = Draft(_predictor(student).signature.instructions)
            found = EvidenceOptimizer(settings).optimize(seed, lessons, Split(**names, families=families), journal)
            best = _with_instructions(student, found.best.text.strip())
            best.optimized, best._compiled = found, True
            return best

    return EvidenceTeleprompter()


def _predictor(program: Any) -> Any:
    predictors = program.predictors()
    if len(predictors) != 1:
        raise UserError(f"a role's program has one predictor, this one has {len(predictors)}")
    return predictors[0]


def _with_instructions(program: Any, text: str) -> Any:
    made = program.deepcopy()
    predictor = _predictor(made)
    predictor.signature = predictor.signature.with_instructions(text)
    return made


def _run_program(
    student: Any, request: TrialRequest, examples: Mapping[str, Any], metric: Callable[..., Any]
) -> TrialResult:
    example = examples[request.task]
    prediction = _with_instructions(student, request.prompt)(**example.inputs())
    told = metric(example, prediction, None)
    score, feedback = getattr(told, "score", told), str(getattr(told, "feedback", ""))
    return TrialResult(score=float(score), feedback=feedback)


class GepaOptimizer:
    """DSPy's GEPA behind the interface of :class:`PromptOptimizer`.

    GEPA evolves the base text (the lessons stay) and keeps what scores best on the validation tasks, without intervals
    and without held-out. What it promotes here is its own word; `gated.py` puts it to our gates.

    Args:
        proposer: its reflection.
        calls: trials that it may make.
        seed: of its random choices.
        tasks: whose texts no proposal may copy.
    """

    def __init__(self, proposer: Proposer, *, calls: int, seed: int = 0, tasks: Sequence[Task] = ()) -> None:
        self._proposer, self._calls, self._seed, self._tasks = proposer, calls, seed, tasks

    def optimize(self, seed: Draft, pool: Sequence[Lesson], split: Split, journal: Journal) -> Optimized:
        """See :class:`PromptOptimizer`; the pool is the proposer's affair."""
        dspy = dspy_module()
        logging.getLogger("dspy.teleprompt.gepa").setLevel(logging.ERROR)
        found = Optimized(seed=seed, best=seed, spent=journal.spent)
        halt, watcher = _Halt(), _Watcher(seed, found)
        student = _trial_program(dspy, journal, seed, halt)
        optimizer = dspy.GEPA(
            metric=_gepa_metric(dspy),
            max_metric_calls=max(1, self._calls - OVERSHOOT),
            instruction_proposer=self._instruction_proposer(journal, watcher, halt),
            skip_perfect_score=False,  # scores are log speed-ups: 1.0 is no maximum
            perfect_score=10.0,
            failure_score=FAILED,
            use_merge=False,  # merging needs several predictors
            num_threads=1,
            seed=self._seed,
            gepa_kwargs={"callbacks": [watcher], "stop_callbacks": [halt]},
        )
        sets = [
            [dspy.Example(task=task).with_inputs("task") for task in part] for part in (split.train, split.validation)
        ]
        best = optimizer.compile(student, trainset=sets[0], valset=sets[1])
        if isinstance(halt.error, OutOfBudget):
            found.ended = f"out of budget: {halt.error}"
            return found
        if halt.error is not None:
            raise halt.error
        text = _predictor(best).signature.instructions
        if text.split() != seed.base.split():
            found.best, found.promoted = Draft(text, seed.lessons), True
        return found

    def _instruction_proposer(
        self, journal: Journal, watcher: _Watcher, halt: _Halt
    ) -> Callable[..., dict[str, str]]:
        def propose(
            candidate: dict[str, str], reflective_dataset: Mapping[str, Any], components_to_update: Sequence[str]
        ) -> dict[str, str]:
            changed = {}
            for name in components_to_update:
                shown = "\n".join(str(dict(row)) for row in reflective_dataset.get(name, ()))[:FEEDBACK_CHARACTERS]
                watcher.asked += 1
                request = ProposalRequest(candidate[name], shown, watcher.asked)
                answer = halt.unless(partial(journal.proposal, self._proposer, request))
                if answer is None:
                    changed[name] = candidate[name]
                    continue
                wrong = prompt_refusals(answer.text, parent=candidate[name], tasks=self._tasks, finish=answer.finish)
                watcher.refused(candidate[name], answer.text, wrong, shown)
                changed[name] = candidate[name] if wrong else answer.text
            return changed

        return propose


class _Halt:
    """Ends GEPA when a trial or a proposal cannot be had: by itself it would count that as a failure of the prompt,
    and go on. Nothing is asked for after the first error, which is told when GEPA has stopped.
    """

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __call__(self, state: Any) -> bool:
        """GEPA's question whether to stop."""
        return self.error is not None

    def unless(self, paid: Callable[[], T]) -> T | None:
        """What is paid for; None from the first error on."""
        if self.error is not None:
            return None
        try:
            return paid()
        except Exception as error:
            self.error = error
            return None


class _Watcher:
    """Keeps every proposal of GEPA, through its callbacks."""

    def __init__(self, seed: Draft, found: Optimized) -> None:
        self._seed, self._found = seed, found
        self._pending: tuple[str, str, str] | None = None
        self.asked = 0

    def refused(self, parent: str, text: str, reasons: Sequence[str], shown: str) -> None:
        """A proposal was made; with reasons it was refused unpaid."""
        self._pending = None if reasons else (parent, text, shown)
        if reasons:
            self._keep(parent, text, shown, accepted=False, because="; ".join(reasons))

    def on_candidate_accepted(self, event: Mapping[str, Any]) -> None:
        """GEPA took the last proposal into its pool."""
        self._settle(accepted=True, because="")

    def on_candidate_rejected(self, event: Mapping[str, Any]) -> None:
        """GEPA dropped it."""
        self._settle(accepted=False, because=str(event.get("reason") or "no better on its minibatch"))

    def _settle(self, *, accepted: bool, because: str) -> None:
        if self._pending is not None:
            self._keep(*self._pending, accepted=accepted, because=because)
            self._pending = None

    def _keep(self, parent: str, text: str, shown: str, *, accepted: bool, because: str) -> None:
        lessons = self._seed.lessons
        self._found.proposals.append(
            Proposal(
                number=len(self._found.proposals) + 1, kind="text", parent=Draft(parent, lessons),
                draft=Draft(text, lessons), reason="GEPA", feedback=shown, accepted=accepted, rejected_because=because,
            )
        )  # fmt: skip


def _trial_program(dspy: Any, journal: Journal, seed: Draft, halt: _Halt) -> Any:
    """A program of one predictor whose answer is a trial with its instructions as the base text."""
    seen: dict[tuple[str, str], int] = {}

    class TrialPredict(dspy.Predict):  # type: ignore[misc]
        def forward(self, **inputs: Any) -> Any:
            prompt, task = Draft(self.signature.instructions, seed.lessons).text, str(inputs["task"])
            number = seen[prompt, task] = seen.get((prompt, task), 0) + 1
            request = TrialRequest(prompt, task, f"gepa/{number}")
            result = halt.unless(partial(journal.trial, request)) or TrialResult(score=FAILED)
            made = dspy.Prediction(result=f"{result.score:+.3f} {result.feedback}", score=result.score)
            if dspy.settings.trace is not None:
                dspy.settings.trace.append((self, {"task": task}, made))
            return made

        def deepcopy(self) -> Any:
            return type(self)(self.signature)

        def __deepcopy__(self, memo: Any) -> Any:
            return self.deepcopy()

    class TrialProgram(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.write = TrialPredict(dspy.Signature("task -> result", seed.base.strip()))

        def forward(self, task: str) -> Any:
            return self.write(task=task)

    return TrialProgram()


def _gepa_metric(dspy: Any) -> Callable[..., Any]:
    def metric(gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
        return dspy.Prediction(score=float(pred.score), feedback=str(pred.result))

    return metric
