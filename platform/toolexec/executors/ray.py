"""Judging sessions on a Ray cluster, of one machine or many: the same judge, in an actor that holds the device.

Owns where a session runs and what happens when its host dies or hangs: the first is replaced and asked again, the
second is killed. How a candidate is judged is the local executor's business, which runs in the actor unchanged. One
actor holds one device (a GPU, or the threads of a CPU) and judges one candidate at a time. Ray is imported when used.
"""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

from kernelwright.errors import JudgeError, KernelwrightError, MissingTool
from kernelwright.protocols import EvaluationSession, JudgeSettings, Progress
from kernelwright.records import (
    Baseline,
    Candidate,
    Ceilings,
    Depth,
    Environment,
    Evaluation,
    Failure,
    Level,
    Profile,
    Status,
    Task,
    TaskFacts,
)
from kernelwright.workspace import now

log = logging.getLogger(__name__)

T = TypeVar("T")
LOCAL = "kernelwright.toolexec.executors.local:LocalExecutor"
REPLACEMENTS = 2
"""How often the host of one call is replaced before the call is given up."""
ADDRESS = "RAY_ADDRESS"
"""The variable in which Ray finds a cluster."""
CLOSE_S = 10.0
START_S = 600.0
"""Waiting for a place in the cluster, seconds: where nothing fits, Ray would wait for ever."""


@dataclasses.dataclass(frozen=True)
class _Answer:
    """What a host sends back: a value or an error in plain data, and the progress made meanwhile."""

    value: Any = None
    error: tuple[str, str, str] | None = None
    """Code, message, hint."""
    progress: tuple[tuple[str, dict[str, Any]], ...] = ()


class SessionHost:
    """A judging session in a process of the cluster; made into an actor by :class:`RayExecutor`.

    Args:
        opener: dotted path of the executor that judges there.
    """

    def __init__(self, opener: str) -> None:
        self._opener = opener
        self._session: EvaluationSession | None = None
        self._told: list[tuple[str, dict[str, Any]]] = []

    def open(self, task: Task, settings: JudgeSettings) -> _Answer:
        """Open the session. Returns its facts, baselines, environment and ceilings."""

        def begin() -> Any:
            module, _, name = self._opener.partition(":")
            place = _usable_cache(settings)
            session = getattr(import_module(module), name)().open(task, settings=place, progress=self._note)
            self._session = session
            return (session.facts, tuple(session.baselines), session.environment, session.ceilings)

        return self._answer(begin)

    def call(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Answer:
        """Call a method of the session."""
        return self._answer(lambda: getattr(self._session, method)(*args, **kwargs))

    def process(self) -> int:
        """The host's process id, for the log."""
        return os.getpid()

    def _note(self, kind: str, data: Mapping[str, Any]) -> None:
        self._told.append((kind, dict(data)))

    def _answer(self, work: Callable[[], Any]) -> _Answer:
        """The answer of some work; an error of ours travels as data, for exceptions lose their form on the way."""
        try:
            value, error = work(), None
        except KernelwrightError as caught:
            value, error = None, (caught.code, caught.message, caught.hint)
        told, self._told = tuple(self._told), []
        return _Answer(value=value, error=error, progress=told)


def _usable_cache(settings: JudgeSettings) -> JudgeSettings:
    """The settings with the cache folder only where it can be reached from this host."""
    place = settings.cache_dir
    there = place is not None and place.parent.is_dir() and os.access(place.parent, os.W_OK)
    return settings if there else dataclasses.replace(settings, cache_dir=None)


class RayExecutor:
    """Sessions on a Ray cluster: the one that RAY_ADDRESS names, else one that is started on this machine.

    Args:
        opener: dotted path of the executor that judges in the host.
        start_s: how long to wait for a host with the device, seconds.
        call_s: how long one call may take before its host counts as hung, seconds; 0 means thrice what the judge's own
            limits allow.
    """

    def __init__(self, opener: str = LOCAL, *, start_s: float = START_S, call_s: float = 0.0) -> None:
        self._opener, self._start_s, self._call_s = opener, start_s, call_s

    def open(self, task: Task, *, settings: JudgeSettings, progress: Progress | None = None) -> RaySession:
        """Open a session on a host that has the device; see :class:`kernelwright.protocols.Executor`.

        Raises:
            MissingTool: Ray is not installed, or no host of the cluster has the device free in time.
        """
        ray = connect()
        limit = self._call_s or 3 * (3 * settings.timeout_s + settings.build_timeout_s * len(task.workloads)) + 60

        def start() -> Any:
            actor = ray.remote(**needs(settings))(SessionHost)
            return actor.remote(self._opener)

        session = RaySession(ray, start, task, settings, progress, start_s=self._start_s, call_s=limit)
        session.start()
        return session


def installed() -> Any:
    """The module ``ray``.

    Raises:
        MissingTool: it is not installed.
    """
    try:
        return import_module("ray")
    except ImportError:
        raise MissingTool("the executor `ray` needs Ray", hint="pip install 'kernelwright[ray]'") from None


def connect() -> Any:
    """The module ``ray``, connected to a cluster.

    Raises:
        MissingTool: it is not installed.
    """
    ray = installed()
    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            address=os.environ.get(ADDRESS) or None,
            include_dashboard=None if os.environ.get(ADDRESS) else False,
            log_to_driver=False,
            configure_logging=False,
        )
    return ray


@contextmanager
def shared_cluster() -> Iterator[str]:
    """A cluster for this process and all that it starts: the one that RAY_ADDRESS names, else one that is made here.

    Without it each of several processes on one machine would start a cluster of its own, and each cluster would give
    away the same devices. A cluster made here ends with this process, however that ends.

    Yields:
        Its address.

    Raises:
        MissingTool: Ray is not installed.
    """
    if address := os.environ.get(ADDRESS):
        yield address
        return
    ray = connect()
    address = str(ray.get_runtime_context().gcs_address)
    os.environ[ADDRESS] = address
    try:
        yield address
    finally:
        os.environ.pop(ADDRESS, None)
        ray.shutdown()


def needs(settings: JudgeSettings) -> dict[str, Any]:
    """What a host must have: one GPU, or the threads that a kernel may use. It is never restarted behind our back."""
    gpu = settings.device.startswith("cuda")
    return {"num_cpus": settings.threads, "num_gpus": int(gpu), "max_restarts": 0, "max_task_retries": 0}


class RaySession:
    """A session whose judge runs elsewhere. Not thread-safe; close it."""

    def __init__(
        self,
        ray: Any,
        start: Callable[[], Any],
        task: Task,
        settings: JudgeSettings,
        progress: Progress | None,
        *,
        start_s: float,
        call_s: float,
    ) -> None:
        self.task = task
        self.facts = TaskFacts(task_id=task.id, workloads=())
        self.baselines: Sequence[Baseline] = ()
        self.environment = Environment()
        self.ceilings = Ceilings()
        self.replaced = 0
        """Hosts that died or hung so far."""
        self._ray, self._start_host, self._progress = ray, start, progress
        self._settings = settings
        self._start_s, self._call_s = start_s, call_s
        self._host: Any = None

    def start(self) -> None:
        """Find a host and open the session there; a host that dies meanwhile is replaced.

        Raises:
            MissingTool: none was free in time.
            JudgeError: hosts keep dying.
        """
        self._asked("open", self._start_s, lambda host: host.open.remote(self.task, self._here(self._settings)))

    def evaluate(
        self, candidate: Candidate, *, depth: Depth, against: Sequence[str] = (), deadline_s: float | None = None
    ) -> Evaluation:
        """Judge one candidate; where its host hangs the verdict is TIMEOUT, where hosts keep dying UNJUDGED."""
        options = {"depth": depth, "against": tuple(against), "deadline_s": deadline_s}
        return self._judged(candidate, depth, lambda: self._called("evaluate", (candidate,), options))

    def compare(self, candidate: Candidate, other: Candidate, *, depth: Depth) -> Evaluation:
        """Judge ``candidate`` with ``other`` as its only baseline."""
        return self._judged(
            candidate, depth, lambda: self._called("compare", (candidate, other), {"depth": depth})
        )

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """Metrics and bottleneck of a candidate that passed."""
        found: Profile = self._called("profile", (candidate, evaluation), {})
        return found

    def export(self, candidate: Candidate) -> str:
        """A self-contained ModelNew file."""
        text: str = self._called("export", (candidate,), {})
        return text

    def close(self) -> None:
        """End the host and all its workers. Idempotent."""
        host, self._host = self._host, None
        if host is None or not self._ray.is_initialized():
            return
        try:
            self._ray.get(host.call.remote("close", (), {}), timeout=CLOSE_S)
        except self._ray.exceptions.RayError as error:
            log.debug("the host did not close in peace: %s", error)
        self._kill(host)

    def __enter__(self) -> RaySession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- hosts ---------------------------------------------------------------------------------------------------

    def _called(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if self._host is None:
            self.start()
        return self._asked(method, self._call_s, lambda host: host.call.remote(method, args, kwargs))

    def _asked(self, what: str, limit_s: float, ask: Callable[[Any], Any]) -> Any:
        """An answer of the host; one that dies is replaced and the question put again."""
        why = ""
        for attempt in range(REPLACEMENTS + 1):
            try:
                if self._host is None:
                    self._host = self._start_host()
                    if what != "open":
                        self._take(self._host.open.remote(self.task, self._here(self._settings)), "open", self._start_s)
                return self._take(ask(self._host), what, limit_s)
            except self._ray.exceptions.RayActorError as error:
                why = " ".join(str(error).split())[:400]
                log.warning("the host of %s died (%s), attempt %d", self.task.name, why, attempt + 1)
                self._lost(self._host)
        raise _Died(what, why)

    def _take(self, reference: Any, what: str, limit_s: float) -> Any:
        """Wait for an answer, tell its progress, raise its error."""
        try:
            answer: _Answer = self._ray.get(reference, timeout=limit_s)
        except self._ray.exceptions.GetTimeoutError:
            self._lost(self._host)
            if what == "open":
                wanted = {k: v for k, v in needs(self._settings).items() if k.startswith("num") and v}
                raise MissingTool(
                    f"no host of the Ray cluster opened a session within {limit_s:.0f} s; it needs {wanted}",
                    hint="`ray status` shows what is free",
                ) from None
            raise _Hung(what, limit_s) from None
        for kind, data in answer.progress:
            if self._progress is not None:
                self._progress(kind, data)
        if answer.error is not None:
            raise error_of(*answer.error)
        if what == "open":
            self.facts, self.baselines, self.environment, self.ceilings = answer.value
        return answer.value

    def _judged(self, candidate: Candidate, depth: Depth, judge: Callable[[], Evaluation]) -> Evaluation:
        try:
            return judge()
        except (_Hung, _Died) as lost:
            return Evaluation(
                candidate_id=candidate.id,
                task_id=self.task.id,
                status=Status.TIMEOUT if isinstance(lost, _Hung) else Status.UNJUDGED,
                level=Level.MEASURED,
                depth=depth,
                device=self._settings.device,
                failure=Failure(check="host", message=lost.message),
                environment=self.environment,
                created_at=now(),
            )

    def _lost(self, host: Any) -> None:
        """Forget a host that died or hung, and make sure that it is gone."""
        self.replaced += 1
        self._host = None
        self._kill(host)

    def _kill(self, host: Any) -> None:
        try:
            self._ray.kill(host, no_restart=True)
        except (self._ray.exceptions.RayError, ValueError) as error:
            log.debug("the host was gone already: %s", error)

    def _here(self, settings: JudgeSettings) -> JudgeSettings:
        """In the host the one GPU that it was given is number 0, whichever of the machine's it is."""
        return dataclasses.replace(settings, device="cuda:0") if settings.device.startswith("cuda") else settings


class _Hung(JudgeError):
    """A host did not answer in time."""

    def __init__(self, what: str, limit_s: float) -> None:
        super().__init__(f"the host did not answer `{what}` within {limit_s:.0f} s and was killed")


class _Died(JudgeError):
    """Hosts kept dying over one call."""

    def __init__(self, what: str, why: str) -> None:
        hint = "look at its memory limits and at Ray's logs"
        super().__init__(f"the host died {REPLACEMENTS + 1} times while doing `{what}`: {why}", hint=hint)


def error_of(code: str, message: str, hint: str) -> KernelwrightError:
    """One of our errors from its data, of the class that has its code."""
    kinds = [KernelwrightError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    chosen = next((kind for kind in kinds if kind.code == code), JudgeError)
    error = chosen.__new__(chosen)
    KernelwrightError.__init__(error, message, hint=hint)
    return error
