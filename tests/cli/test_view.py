"""Progress on stderr: a panel in a terminal, lines in a pipe, nothing when quiet, never anything on stdout."""

import io

import pytest
from fakes.records import a_ratio, an_event

from kernelwright.cli.view import LineView, PanelView, Progress, event_line, open_view
from kernelwright.records import RunEvent


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def story() -> list[RunEvent]:
    """A round as the graph tells it."""
    ratio = a_ratio(1.31).model_dump()
    passed = {"status": "PASSED", "depth": "full", "speedup": ratio, "latency_us": 162.0, "failure": ""}
    failed = {"status": "COMPILE_ERROR", "depth": "screen", "speedup": None, "latency_us": None, "failure": "no\nH"}
    return [
        an_event("node", "prepare", node="prepare", round=0, spent_s=0.1, left_s=74.9, measured=0),
        an_event("prepared", "best baseline: compile", node="prepare", round=0, spent_s=9.0, left_s=66.0),
        an_event("node", "round 1: planner", node="planner", spent_s=9.1, left_s=65.9),
        an_event("plan", "Two passes.", node="planner", technique="separable-window"),
        an_event("plan", "Fuse in tiles.", node="planner", technique="fuse-tiles"),
        an_event("node", "round 1: profiler", node="profiler"),
        an_event("trial", "VECTOR=16: PASSED", node="profiler", score=1.2),
        an_event("evaluation", "Two passes.", candidate="ab" * 8, measured=3, **passed),
        an_event("evaluation", "Fuse in tiles.", candidate="cd" * 8, measured=4, spent_s=20.0, left_s=55.0, **failed),
        an_event("timing", candidate="ab" * 8, own_s=0.01),
        an_event("warning", "not confirmed (UNSTABLE): \x1b[31mnoise"),
        an_event("something-new", "whatever", odd=[1]),
        an_event("end", "confirmed 1.31x [1.29, 1.33] over compile"),
    ]  # fmt: skip


def test_progress_is_learned_from_events() -> None:
    known = Progress(task="blur", measurements=200)
    for event in story():
        known.take(event)
    assert (known.passed, known.failed, known.trials, known.round) == (1, 1, 1, 1)
    assert known.best == "1.31x [1.29, 1.33] over compile, 0.162 ms"
    assert known.judged() == "2 candidates, 1 passed, 1 failed; 4 of 200 measurements"
    assert (known.spent_s, known.left_s) == (20.0, 55.0)


def test_screened_speed_is_not_the_best() -> None:
    known = Progress(task="blur")
    speedup = a_ratio(9.0).model_dump()
    known.take(an_event("evaluation", "x", status="PASSED", depth="screen", speedup=speedup))
    assert known.best == "" and known.passed == 1


def test_a_pipe_gets_one_line_for_what_matters() -> None:
    stream = io.StringIO()
    with open_view(task="blur", config=None, stream=stream) as view:
        assert isinstance(view, LineView)
        for event in story():
            view(event)
    lines = stream.getvalue().splitlines()
    assert [line[14:] for line in lines] == [
        "best baseline: compile",
        "round 1: plan: Two passes.",
        "round 1: plan: Fuse in tiles.",
        "round 1: abababab passed, 1.31x [1.29, 1.33] over compile: Two passes.",
        "round 1: cdcdcdcd no build, no H: Fuse in tiles.",
        "warning: not confirmed (UNSTABLE): noise",
        "confirmed 1.31x [1.29, 1.33] over compile",
    ]
    assert lines[-1].startswith("        20 s  ")


def test_nodes_trials_and_unknown_events_have_no_line() -> None:
    silent = ("node", "trial", "timing", "something-new")
    assert [event_line(event) for event in story() if event.kind in silent] == [None] * 6


def test_quiet_says_nothing() -> None:
    stream = Terminal()
    with open_view(task="blur", config=None, quiet=True, stream=stream) as view:
        for event in story():
            view(event)
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_panel_that_goes_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    with open_view(task="blur", config=None, stream=stream) as view:
        assert isinstance(view, PanelView)
        for event in story():
            view(event)
    shown = stream.getvalue()
    assert "warning: not confirmed (UNSTABLE): noise" in shown
    assert shown.rstrip("\n").endswith(("\x1b[2K", "\x1b[?25h")) or "\x1b[2K" in shown
    assert capsys.readouterr().out == ""


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with open_view(task="blur", config=None, stream=Terminal()) as view:
        assert isinstance(view, LineView)


def test_the_panel_keeps_its_height_and_ticks_between_events() -> None:
    from rich.console import Console

    now = [0.0]
    view = PanelView(Progress(task="blur", rounds=4, measurements=200), io.StringIO(), clock=lambda: now[0])

    def drawn() -> list[str]:
        console = Console(file=io.StringIO(), width=80)
        with console.capture() as capture:
            console.print(view.panel())
        return capture.get().rstrip("\n").split("\n")

    heights = {len(drawn())}
    for event in story():
        view(event)
        heights.add(len(drawn()))
    assert len(heights) == 1
    now[0] = 5.0
    text = "\n".join(drawn())
    assert "25 s spent, 50 s left" in text
    assert "round 1 of 4" in text and "1.31x [1.29, 1.33] over compile, 0.162 ms" in text
    assert all(len(line) <= 80 for line in drawn())


def test_time_left_never_goes_below_zero() -> None:
    now = [0.0]
    view = PanelView(Progress(task="blur", left_s=3.0), io.StringIO(), clock=lambda: now[0])
    now[0] = 10.0
    view.panel()
    from rich.console import Console

    console = Console(file=io.StringIO(), width=80)
    with console.capture() as capture:
        console.print(view.panel())
    assert "0 ms left" in capture.get() or "0 s left" in capture.get()


def test_malformed_data_does_not_stop_a_run() -> None:
    known = Progress(task="blur")
    known.take(an_event("evaluation", "x", speedup={"value": -1}, status=None, spent_s="soon", latency_us="fast"))
    assert known.failed == 1 and known.spent_s == 0.0


def test_answers_are_shown_while_they_arrive_and_gone_afterwards() -> None:
    from rich.console import Console

    view = PanelView(Progress(task="blur"), io.StringIO(), clock=lambda: 0.0)

    def drawn() -> str:
        console = Console(file=io.StringIO(), width=100)
        with console.capture() as capture:
            console.print(view.panel())
        return capture.get()

    view(an_event("stream", "for (i = 0;", node="coder", call=3, role="coder", tokens=40))
    view(an_event("stream", "\x1b[2J{\x07} evil\r", node="coder", call=4, role="repairer", tokens=7))
    view(an_event("doing", "screening abababab", node="profiler"))
    text = drawn()
    assert "coder" in text and "about 40 tokens so far: for (i = 0;" in text
    assert "about 7 tokens so far: {\\u0007} evil" in text and "\x1b[2J" not in text
    assert "profiler" in text and "screening abababab" in text
    height = len(text.split("\n"))
    view(an_event("stream", "", call=3, tokens=0))
    view(an_event("stream", "", call=4, tokens=0))
    assert "tokens so far" not in drawn() and len(drawn().split("\n")) == height
    assert event_line(an_event("stream", "x", call=3, tokens=1)) is None
    assert event_line(an_event("doing", "x")) is None
