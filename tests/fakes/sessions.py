"""A scripted judge: an EvaluationSession that answers with real Evaluations from stated times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fakes.records import a_baseline, a_failure, a_profile, a_ratio, an_environment, an_evaluation, some_facts

from kernelwright.records import Candidate, Ceilings, Depth, Environment, Evaluation, Profile, Status, Task


class ScriptedSession:
    """Judges by a table; every workload takes the same time.

    Args:
        task: what is judged.
        times_us: candidate id -> time, or the status with which it fails. Unknown candidates fail to compile.
        baseline_us: time of the only baseline, ``compile``.
        environment: of every number.
    """

    def __init__(
        self,
        task: Task,
        times_us: Mapping[str, float | Status],
        *,
        baseline_us: float = 220.0,
        environment: Environment | None = None,
    ) -> None:
        self.task = task
        self.facts = some_facts(task)
        self.baselines = (a_baseline("compile", {w.name: baseline_us for w in task.workloads}, best=True),)
        self.environment = environment or an_environment()
        self.ceilings = Ceilings(gbps={1_048_576: 140.0}, gflops=118.0)
        self.times_us = times_us
        self.baseline_us = baseline_us
        self.calls: list[tuple[str, ...]] = []
        """("evaluate", id) and ("compare", id, other id), in order."""
        self.closed = False

    def evaluate(
        self, candidate: Candidate, *, depth: Depth, against: Sequence[str] = (), deadline_s: float | None = None
    ) -> Evaluation:
        self.calls.append(("evaluate", candidate.id))
        return self._judged(candidate, self.baseline_us, "compile", depth)

    def compare(self, candidate: Candidate, other: Candidate, *, depth: Depth) -> Evaluation:
        self.calls.append(("compare", candidate.id, other.id))
        time = self.times_us[other.id]
        assert not isinstance(time, Status), "nothing is compared with what failed"
        return self._judged(candidate, time, other.id, depth)

    def _judged(self, candidate: Candidate, other_us: float, against: str, depth: Depth) -> Evaluation:
        assert not self.closed
        time = self.times_us.get(candidate.id, Status.COMPILE_ERROR)
        if isinstance(time, Status):
            return a_failure(candidate, time, "scripted", depth=depth, environment=self.environment)
        return an_evaluation(
            candidate,
            latency_us={w.name: time for w in self.task.workloads},
            speedup=None,
            depth=depth,
            environment=self.environment,
        ).model_copy(update={"speedup": a_ratio(other_us / time, against), "best_baseline": against})

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return a_profile(candidate)

    def export(self, candidate: Candidate) -> str:
        return "class ModelNew: ...\n"

    def close(self) -> None:
        self.closed = True
