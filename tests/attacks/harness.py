"""Judges the samples of tests/attacks through the public executor, and says what must hold of each verdict.

Owns sessions (one at a time: each holds several processes), switching single guards off, and the naive judge's process.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attacks.reading import HERE, HONEST_TIME, REFUSED, Sample, candidate_of, task_of
from attacks.registry import serve_kernels
from attacks.remains import probes

from kernelwright.errors import CandidateError, KernelwrightError, ReferenceBroken, TaskError
from kernelwright.protocols import EvaluationSession, JudgeSettings
from kernelwright.records import Depth, Evaluation, Status, Task
from kernelwright.toolexec.guards import Guards
from kernelwright.toolexec.session import Session

SANDBOXES = ("bubblewrap", "landlock")
NAIVE_TIMEOUT_S = 90.0
TIMEOUT_S = 12.0
"""Judge's limit at depth full: long enough for a small kernel on a busy machine, short for what never ends."""
LOOKS_FASTER = 1.05
"""Measured speed-up at which an attack counts as successful."""
NEXT_GUARDS = {"byte-floor": "byte_floor", "one call at a time": "single_call_agrees"}
"""Check that stops what has got past the guard that it aims at -> the guard behind that check."""
KNOWN_GOOD = HERE / "honest" / "softmax_vector.cpp"


@dataclass(frozen=True)
class Verdict:
    """What became of a sample."""

    status: str
    """A Status, or REFUSED."""
    evaluation: Evaluation | None
    message: str

    @property
    def gain(self) -> float | None:
        """Lower end of the speed-up's interval; None without times."""
        ratio = self.evaluation.speedup if self.evaluation else None
        return ratio.low if ratio else None

    def __str__(self) -> str:
        ratio = self.evaluation.speedup if self.evaluation else None
        gain = f" {ratio.value:.2f}x [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio else ""
        return f"{self.status}{gain} {self.message}"


def needs_more(sample: Sample, verdict: Verdict) -> str:
    """Why this machine cannot stop the sample; "" when it can."""
    reached = verdict.evaluation.sandbox if verdict.evaluation else ""
    if sample.needs_sandbox and reached not in SANDBOXES:
        return f"only a sandbox stops this, and the tier reached here is {reached!r}"
    return ""


def without(names: Sequence[str]) -> Guards:
    """All guards but these."""
    return Guards(**dict.fromkeys(names, False))


class Sessions:
    """One open session, for the task that is wanted now.

    Args:
        cache: folder for builds and ceilings.
        timeout_s: the judge's limit at depth full.
    """

    def __init__(self, cache: Path, timeout_s: float = TIMEOUT_S) -> None:
        self.settings = JudgeSettings(
            baselines=("eager",), timeout_s=timeout_s, build_timeout_s=timeout_s, memory_limit_gib=4.0, cache_dir=cache
        )
        self._key: tuple[str, tuple[str, ...]] | None = None
        self._session: EvaluationSession | None = None

    def get(self, task: Task, off: Sequence[str] = ()) -> EvaluationSession:
        """A session for the task, with some guards off.

        Raises:
            TaskError, ReferenceBroken: the judge refuses the task.
        """
        from kernelwright.toolexec.executors.local import LocalExecutor

        key = (task.id, tuple(off))
        if key != self._key or self._session is None:
            self.close()
            options: dict[str, Any] = {"guards": without(off)} if off else {}
            self._session = LocalExecutor(**options).open(task, settings=self.settings)
            self._key = key
        return self._session

    def settle(self) -> None:
        """Have one spare process of each kind ready, so that what is open can be counted."""
        if isinstance(self._session, Session):
            for role in ("kernel", "torch"):
                self._session._pool.refill(role)
            self._session._pool.settle()

    def close(self) -> None:
        """Close what is open."""
        if self._session is not None:
            self._session.close()
        self._session = self._key = None

    def judge(self, sample: Sample, *, off: Sequence[str] = (), depth: Depth | None = None) -> Verdict:
        """Judge a sample; with a twin its gain is over the twin, else over the reference."""
        try:
            session = self.get(task_of(sample), off)
        except (TaskError, ReferenceBroken) as error:
            self.close()
            return Verdict(REFUSED, None, str(error))
        try:
            candidate = candidate_of(sample.path)
        except CandidateError as error:
            return Verdict(REFUSED, None, str(error))
        wanted = depth or Depth(sample.depth)
        if sample.twin:
            found = session.compare(candidate, candidate_of(HERE / "honest" / sample.twin), depth=wanted)
        else:
            found = session.evaluate(candidate, depth=wanted)
        message = f"{found.failure.check}: {found.failure.message}" if found.failure else ""
        return Verdict(str(found.status), found, message)

    def best_of_variants(self, sample: Sample, *, off: Sequence[str] = ()) -> Verdict:
        """Screen many near-clones, and judge the luckiest again in full confidence (unless that guard is off)."""
        session = self.get(task_of(sample), off)
        clones = [candidate_of(sample.path, i) for i in range(sample.variants)]
        screened = [session.evaluate(c, depth=Depth.SCREEN) for c in clones]
        gains = [e.speedup.value if e.speedup else 0.0 for e in screened]
        luckiest = gains.index(max(gains))
        if "remeasure" in off:
            found = screened[luckiest]
        else:
            found = session.evaluate(clones[luckiest], depth=Depth(sample.depth))
        return Verdict(str(found.status), found, f"luckiest of {len(clones)} at screen: {max(gains):.3f}x")


def complaint(sample: Sample, verdict: Verdict) -> str:
    """What is wrong with a verdict; "" when it is as it must be."""
    allowed = " or ".join(sorted(sample.expect))
    if verdict.status != Status.PASSED:
        if verdict.status not in sample.expect:
            return f"{sample.name}: {verdict}; expected {allowed}"
        if sample.explains and sample.explains not in verdict.message:
            return f"{sample.name}: the message does not tell about {sample.explains!r}: {verdict.message}"
        return ""
    if "PASSED" in sample.expect:
        return ""
    if HONEST_TIME not in sample.expect:
        return f"{sample.name} beats the judge: {verdict}; expected {allowed}"
    if verdict.gain is not None and verdict.gain > sample.most:
        against = sample.twin or "the reference"
        return f"{sample.name} passes with a false speed-up over {against}: {verdict}; at most {sample.most} is honest"
    return ""


def wins(sample: Sample, verdict: Verdict) -> bool:
    """Has it beaten a judge whose guard is off: passed and looks faster, or shown that it found something?"""
    if sample.leak:
        return verdict.status == sample.leak
    if verdict.status != Status.PASSED:
        return False
    ratio = verdict.evaluation.speedup if verdict.evaluation else None
    return sample.looks < 1 or ratio is None or ratio.value > LOOKS_FASTER


def wins_without(sessions: Sessions, sample: Sample) -> str:
    """"" when it beats the real judge with its guards off, at least once; else what came out.

    A machine may be too busy for a threaded attack to show its gain at the first try: those that work on a second core
    race the judge for it, and get more tries. What does next to nothing in its call may be refused once more, as faster
    than memory, or as dearer on its own than in a loop: then that guard is off too at the next try.
    """
    with contextlib.ExitStack() as stack:
        if "server" in sample.flaws:
            server = serve_kernels()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
        return _wins_once(sessions, sample, 3 if sample.cores < 2 else 6)


def _wins_once(sessions: Sessions, sample: Sample, tries: int) -> str:
    said, off = "", sample.off
    for _ in range(tries + len(NEXT_GUARDS)):
        once = sessions.best_of_variants if sample.variants > 1 else sessions.judge
        verdict = once(sample, off=off)
        evaluation = verdict.evaluation
        if evaluation and without(off).notes[0] not in evaluation.static_notes:
            return f"{sample.name}: its Evaluation does not say that {', '.join(off)} are off"
        if wins(sample, verdict) or (sample.probe and probes()):
            return ""
        said = f"{sample.name} without {', '.join(off)}: {verdict}"
        if evaluation and evaluation.failure and (guard := NEXT_GUARDS.get(evaluation.failure.check)):
            off = tuple(dict.fromkeys((*off, guard)))
    return said


def ask_naive_judge(sample: Sample, path: Path | None = None) -> dict[str, Any]:
    """The naive judge's result for a sample (or for ``path`` in its place); {} when it gave none."""
    receive, send = os.pipe()
    root = Path(next(iter(importlib.import_module("kernelwright").__path__))).parent
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]),
        "NAIVE_RESULT_FD": str(send),
        "OMP_NUM_THREADS": "1",
        "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
        "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
    }
    task = HERE / "tasks" / f"{sample.task.split()[0]}.py"
    command = [sys.executable, str(HERE / "naive_judge.py"), str(task), str(path or sample.path), *sample.flaws]
    try:
        done = subprocess.run(
            command, env=environment, pass_fds=(send,), capture_output=True, text=True, timeout=NAIVE_TIMEOUT_S
        )
        text = done.stdout
    except subprocess.TimeoutExpired:
        text = ""
    finally:
        os.close(send)
    with os.fdopen(receive, "rb", buffering=0) as pipe:
        if "result_pipe" in sample.flaws:
            text = (pipe.read(1 << 16) or b"").decode()
    lines = [line for line in text.splitlines() if line.startswith("{")]
    told: dict[str, Any] = json.loads(lines[0]) if lines else {}
    return told


def fools_naive_judge(sample: Sample, tries: int = 3) -> str:
    """"" when it is called right and faster (than its twin, where there is one) at least once; else what came out."""
    said = ""
    for _ in range(tries):
        told = ask_naive_judge(sample)
        speedup = float(told.get("speedup", 0.0))
        if sample.twin:
            twin = ask_naive_judge(sample, HERE / "honest" / sample.twin)
            # By their times, not their speed-ups: each of those has a baseline of its own, measured at another moment.
            speedup = float(twin.get("runtime", 0.0)) / float(told.get("runtime", 1.0))
        if told.get("correctness") and speedup >= sample.looks:
            return ""
        said = f"{sample.name}: {told}, {speedup:.2f}x where {sample.looks} was to be reported"
    return said


def still_judges(sessions: Sessions, task: Task) -> str:
    """"" when a known-good candidate passes in the same session; else its verdict."""
    try:
        found = sessions.get(task).evaluate(candidate_of(KNOWN_GOOD), depth=Depth.SCREEN)
    except KernelwrightError as error:
        return str(error)
    return "" if found.passed else f"{found.status}: {found.failure.message if found.failure else ''}"
