"""Live progress of a run on stderr: a small steady panel in a terminal, plain lines elsewhere, nothing with --quiet.

It is fed RunEvents and owns what of them people see. It never writes to stdout and never stops a run: an event it does
not know is passed over. Data read when present: ``spent_s left_s measured`` of every event; ``decision`` of ``plan``
and ``candidate``; ``decision candidate status depth speedup latency_us failure`` of ``evaluation``; ``call role
tokens`` of ``stream``. Kinds ``doing`` and ``stream`` reach whoever watches and are stored nowhere.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from kernelwright.records import Ratio, RunEvent
from kernelwright.report.figures import format_count, format_ratio, format_seconds, format_time, short_id
from kernelwright.report.inert import one_line
from kernelwright.report.words import STATUS_WORDS, contestant, reason_words

if TYPE_CHECKING:
    from rich.table import Table

    from kernelwright.config import RunConfig

_TOLD = frozenset(
    "prepare prepared baseline plan repair evaluation verdict confirm warning budget library end".split()
)
"""Kinds of events that are worth a line where no panel can be shown."""
_DOING = ("prepare", "baseline", "candidate", "confirm", "prepared", "model", "repair", "doing", "waiting")
"""Kinds whose message says what a node is doing."""
SHOWN_ANSWERS = 3
"""Answers that are arriving at the same time and have a line of their own."""


@dataclass(frozen=True)
class Arriving:
    """A model's answer on its way."""

    role: str
    tokens: int
    """About."""
    line: str
    """Its last whole line."""


@dataclass
class Progress:
    """What is known of a run from its events so far. Pure: no clock, no output."""

    task: str
    seconds: float | None = None
    """Budget in wall time; None when unknown."""
    measurements: int | None = None
    """Budget in measurements; None when unknown."""
    rounds: int | None = None
    round: int = 0
    node: str = ""
    doing: str = ""
    passed: int = 0
    failed: int = 0
    trials: int = 0
    measured: int = 0
    spent_s: float = 0.0
    left_s: float | None = None
    best: str = ""
    planned: dict[str, str] = field(default_factory=dict)
    """Decision id -> its summary, for those of this round that are still to be judged."""
    arriving: dict[int, Arriving] = field(default_factory=dict)
    """Number of a model's call -> what has come of its answer so far."""
    _shown: float = 0.0

    def take(self, event: RunEvent) -> None:
        """Learn from one event."""
        data = event.data
        self.round = max(self.round, event.round)
        self.spent_s = _number(data.get("spent_s"), self.spent_s)
        self.left_s = data.get("left_s", self.left_s)
        self.measured = int(_number(data.get("measured"), self.measured))
        handler = {
            "node": self._node, "plan": self._plan, "trial": self._trial, "evaluation": self._evaluation,
            "stream": self._stream,
        }  # fmt: skip
        handler.get(event.kind, self._other)(event)

    def _stream(self, event: RunEvent) -> None:
        call, tokens = int(_number(event.data.get("call"), 0.0)), int(_number(event.data.get("tokens"), 0.0))
        if tokens:
            self.arriving[call] = Arriving(str(event.data.get("role") or "model"), tokens, event.message)
        else:
            self.arriving.pop(call, None)

    def _node(self, event: RunEvent) -> None:
        self.node, self.doing, self.trials = event.node or event.message, "", 0
        if self.node == "planner":
            self.planned = {}

    def _plan(self, event: RunEvent) -> None:
        self.planned[str(event.data.get("decision", event.message))] = event.message
        self.doing = format_count(len(self.planned), "decision")

    def _trial(self, event: RunEvent) -> None:
        self.trials += 1
        self.node = event.node or self.node

    def _evaluation(self, event: RunEvent) -> None:
        self.planned.pop(str(event.data.get("decision", event.message)), None)
        if event.data.get("status") == "PASSED":
            self.passed += 1
        else:
            self.failed += 1
        ratio = _ratio(event)
        if ratio is not None and event.data.get("depth") != "screen" and ratio.value > self._shown:
            self._shown = ratio.value
            latency = _number(event.data.get("latency_us"), 0.0)
            self.best = f"{format_ratio(ratio)} over {contestant(ratio.against)}"
            self.best += f", {format_time(latency)}" if latency else ""

    def _other(self, event: RunEvent) -> None:
        if event.kind == "candidate" and not event.data.get("candidate"):
            self.planned.pop(str(event.data.get("decision", event.message)), None)
        if event.kind in _DOING and event.message:
            self.node, self.doing = event.node or self.node, event.message

    def judged(self) -> str:
        """How many were judged and how they ended."""
        total = self.passed + self.failed
        text = format_count(total, "candidate")
        text += f", {self.passed} passed, {self.failed} failed" if total else ""
        measured = f"{self.measured} of {format_count(self.measurements, 'measurement')}" if self.measurements else ""
        return f"{text}; {measured or format_count(self.measured, 'measurement')}"


def _number(value: Any, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) else otherwise


def _ratio(event: RunEvent) -> Ratio | None:
    try:
        return Ratio.model_validate(event.data.get("speedup"))
    except ValueError:
        return None


class View:
    """Takes events; what becomes of them is the subclasses' business. Use it through :func:`open_view`."""

    def __init__(self, progress: Progress, stream: TextIO) -> None:
        self.progress = progress
        self.stream = stream

    def __call__(self, event: RunEvent) -> None:
        """Take one event."""
        self.progress.take(event)


class LineView(View):
    """One plain line for an event that matters, none for the others."""

    def __call__(self, event: RunEvent) -> None:
        """Take one event and maybe write its line."""
        super().__call__(event)
        if (line := event_line(event)) is not None:
            self.stream.write(f"{format_seconds(self.progress.spent_s):>12}  {line}\n")
            self.stream.flush()


def event_line(event: RunEvent) -> str | None:
    """An event as one line, or None when it is not worth one."""
    message = one_line(event.message, 160)
    if event.kind not in _TOLD or not (message or event.kind == "evaluation"):
        return None
    if event.kind == "plan":
        return f"round {event.round}: plan: {message}"
    if event.kind == "evaluation":
        ratio = _ratio(event)
        status = STATUS_WORDS.get(event.data.get("status", ""), "judged")
        outcome = f"{format_ratio(ratio)} over {contestant(ratio.against)}" if ratio else ""
        outcome = outcome or one_line(str(event.data.get("failure") or ""), 80)
        name = short_id(str(event.data.get("candidate") or ""))
        return f"round {event.round}: {name} {status}" + (f", {outcome}" if outcome else "") + f": {message}"
    if event.kind == "budget":
        return f"ending: {reason_words(message)}"
    return f"warning: {message}" if event.kind == "warning" else message


class PanelView(View):
    """Six lines that stay in place, and one for each answer that a model is giving, redrawn four times a second;
    warnings scroll by above them."""

    def __init__(self, progress: Progress, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(progress, stream)
        self._clock = clock
        self._heard = clock()
        self._answers = 0
        """Lines for answers that are arriving: as many as were needed at once, so that the panel does not jump."""
        self.console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._live = Live(
            console=self.console, get_renderable=self.panel, refresh_per_second=4, transient=True,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip

    def start(self) -> None:
        """Show the panel."""
        self._live.start()

    def stop(self) -> None:
        """Take the panel away."""
        self._live.stop()

    def __call__(self, event: RunEvent) -> None:
        """Take one event; the panel follows at its own pace."""
        super().__call__(event)
        self._heard = self._clock()
        if event.kind in ("warning", "library", "end") and (line := event_line(event)):
            self.console.print(line, soft_wrap=True)

    def panel(self) -> Table:
        """The panel as it stands now."""
        from rich.table import Table
        from rich.text import Text

        known, since = self.progress, self._clock() - self._heard
        of = f" of {known.rounds}" if known.rounds else ""
        round_ = f"round {known.round}{of}" if known.round else "getting ready"
        doing = one_line(known.doing or next(iter(known.planned.values()), ""))
        doing += f" ({format_count(known.trials, 'trial')})" if known.trials else ""
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(style="dim", no_wrap=True, width=9)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        table.add_row(Text(""), Text(""))
        table.add_row(Text("task"), Text.assemble((one_line(known.task), "bold"), f"  {round_}"))
        table.add_row(Text(known.node or "start"), Text(doing))
        for label, text in self._arriving():
            table.add_row(Text(label), Text(text, style="dim"))
        table.add_row(Text("judged"), Text(known.judged()))
        table.add_row(Text("best"), Text(known.best or "nothing faster yet", style="green" if known.best else "dim"))
        table.add_row(Text("time"), self._time(since))
        return table

    def _arriving(self) -> Iterator[tuple[str, str]]:
        """A line for each answer that is on its way, empty ones where there were more before."""
        answers = list(self.progress.arriving.values())[:SHOWN_ANSWERS]  # coders' threads add to it
        self._answers = max(self._answers, len(answers))
        for answer in answers:
            so_far = format_count(answer.tokens, "token")
            yield one_line(answer.role, 9), f"about {so_far} so far: {one_line(answer.line, 160)}"
        yield from [("", "")] * (self._answers - len(answers))

    def _time(self, since: float) -> Any:
        """Seconds spent and left, with a bar where the budget is known; ticks between events."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        spent = self.progress.spent_s + since
        if self.progress.left_s is None:
            return Text(f"{format_seconds(spent)} spent")
        left = max(0.0, self.progress.left_s - since)
        row = Table.grid(padding=(0, 2))
        total = spent + left or 1.0
        bar = ProgressBar(total, spent, width=24, complete_style="cyan", finished_style="cyan")
        row.add_row(Text(f"{format_seconds(spent)} spent, {format_seconds(left)} left", no_wrap=True), bar)
        return row


@contextmanager
def open_view(
    *, task: str, config: RunConfig | None, quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Callable[[RunEvent], None]]:
    """Show a run's progress while the block runs.

    Args:
        task: the task's name.
        config: its budgets are shown; None when they are not at hand.
        quiet: show nothing at all.
        stream: where to; None means stderr.

    Yields:
        What is to be called with each event.
    """
    target = stream or sys.stderr
    progress = Progress(task=task)
    if config is not None:
        budget = config.budget
        progress.seconds, progress.measurements, progress.rounds = budget.seconds, budget.measurements, budget.rounds
        progress.left_s = budget.seconds
    if quiet:
        yield View(progress, target)
    elif target.isatty() and os.environ.get("TERM") != "dumb":
        view = PanelView(progress, target)
        view.start()
        try:
            yield view
        finally:
            view.stop()
    else:
        yield LineView(progress, target)
