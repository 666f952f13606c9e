"""Results in the terminal: readable at 80 and 120 columns and in a pipe; no number cut, strangers' text inert."""

import re
from dataclasses import replace

import pytest
from fakes.records import a_baseline, a_task
from fakes.runs import HOSTILE_LOG, a_blur_run, a_run_where_nothing_fitted, a_stopped_run

from kernelwright.cli.drawing import LEAST_WIDTH, PIPED_WIDTH, as_text, grid, width, words
from kernelwright.cli.machine_table import doctor_text
from kernelwright.cli.story import run_story
from kernelwright.cli.tables import (
    compare_text,
    evaluation_text,
    next_commands,
    preflight_text,
    run_text,
    runs_text,
    task_text,
    timing_text,
)
from kernelwright.records import Domain, InputSpec, KernelPolicy, Workload
from kernelwright.report.machine_check import Finding

WIDTHS = (40, 80, 100, 120, 200)


def lines_within(text: str, columns: int) -> bool:
    return max(map(len, text.split("\n"))) <= max(columns, LEAST_WIDTH)


@pytest.mark.parametrize("columns", WIDTHS)
def test_no_number_is_cut_at_any_width(columns: int) -> None:
    text = run_text(a_blur_run(), columns=max(columns, LEAST_WIDTH))
    for piece in ("1.31x [1.29, 1.33]", "0.088x [0.087, 0.089]", "35.6x [35.2, 36.0]", "0.212 ms [0.210, 0.214]",
                  "0.162 ms", "24.0 ms", "0.71", "wrong values", "compile-max"):  # fmt: skip
        assert piece in text, piece
    table = text.partition("\n\nBaselines")[0]
    assert lines_within(table, columns)
    assert "\u2026" not in text


@pytest.mark.parametrize("columns", (80, 120))
def test_each_candidate_has_its_decision_status_time_and_ratio(columns: int) -> None:
    text = " ".join(run_text(a_blur_run(), columns=columns).split())
    for piece in ("2.41 ms 0.05 0.088x", "over compile", "no build", "not made", "not measured: no C++ compiler",
                  "1.31x speed-up over the best baseline", "kernelwright runs show 20250601-101500-box_blur",
                  "best/model_new.py"):  # fmt: skip
        assert piece in text, piece


def test_a_pipe_gets_plain_text_of_a_fixed_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert width() == PIPED_WIDTH
    text = run_text(a_blur_run())
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.split("\n"))
    monkeypatch.setenv("COLUMNS", "90")
    assert width() == 90
    monkeypatch.setenv("COLUMNS", "20")
    assert width() == LEAST_WIDTH


def test_strangers_text_is_neither_markup_nor_a_terminal_command() -> None:
    failed = a_blur_run().steps[2].evaluations[0]
    text = evaluation_text(failed, (), columns=80)
    assert "\x1b" not in text and "<script>alert('log')</script>" in text
    table = grid("x")
    table.add_row(words("[red]no[/red] [link=http://e]x[/link] \x1b]0;t\x07"))
    assert "[red]no[/red] [link=http://e]x[/link]" in as_text([table], columns=80)
    assert as_text(["[bold]\x1b[2Jx"], columns=80) == "[bold]x"
    assert HOSTILE_LOG.split("\n")[0] in text


def test_an_encoding_without_lines_and_letters_is_served_too(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    text = run_text(a_blur_run(), columns=80)
    text.encode("ascii")
    assert "1.31x [1.29, 1.33]" in text


def test_a_run_without_candidates_says_why_and_what_now() -> None:
    text = run_text(a_run_where_nothing_fitted(), columns=80)
    assert "Candidates" not in text
    assert "Nothing in the library fits this task" in text
    assert next_commands(a_stopped_run())[0] == ("go on", "kernelwright resume 20250601-101500-box_blur")


def test_many_workloads_still_fit() -> None:
    names = [f"workload-{n}" for n in range(5)]
    task = a_task(workloads=tuple(Workload(name=n) for n in names))
    records = replace(a_run_where_nothing_fitted(), task=task,
                      baselines=[a_baseline("eager", dict.fromkeys(names, 123.0), best=True)])  # fmt: skip
    text = run_text(records, columns=80)
    assert lines_within(text, 80)
    assert text.count("0.123 ms [0.122, 0.124]") == 5


def test_runs_are_one_line_each_with_ids_to_copy() -> None:
    blur = a_blur_run(run_id="20250601-101500-box_blur_3x3-ab12")
    runs = [blur.summary, a_stopped_run().summary]
    text = runs_text(runs, columns=80)
    assert re.search(r"^20250601-101500-box_blur_3x3-ab12 .*1\.31x \[1\.29, 1\.33\]  1 min 14 s$", text, re.M)
    assert lines_within(text, 80)
    assert "kernelwright demo" in runs_text([])


def test_timing_shows_own_time_and_its_percentiles() -> None:
    text = timing_text(a_blur_run(), columns=80)
    assert "median 12 ms, 95th percentile 24 ms" in text
    assert re.search(r"^2045e9fe\b.* 2\.7 s +12 ms$", text, re.M) or "2.7 s" in text
    assert timing_text(a_run_where_nothing_fitted()) == "no candidate was judged in this run"


def test_two_runs_side_by_side_with_a_caution() -> None:
    text = compare_text(a_blur_run(), a_stopped_run(), columns=80)
    assert "The tasks differ" in text and lines_within(text, 80)
    assert "kernelwright evaluate" in compare_text(a_blur_run(), a_blur_run(), columns=120)


def test_a_verdict_shows_every_workload() -> None:
    records = a_blur_run()
    best = records.best_evaluation
    assert best is not None
    text = evaluation_text(best, records.baselines, columns=80)
    assert "passed, confirmed" in text and "bubblewrap" in text
    assert len(re.findall(r"^(?:default|large) ", text, re.M)) == 2
    assert text.count("over compile-max") == 2
    assert lines_within(text, 80)


def test_a_task_tells_its_rules_and_domain() -> None:
    domain = Domain(low=0, non_finite="propagate")
    spec = InputSpec(name="x", axes=("rows", "cols"), dtype="float32", domain=domain)
    task = a_task(inputs=(spec,), policy=KernelPolicy(own_kernel=True))
    text = task_text(task, columns=80)
    assert "own kernel required" in text and "0 to -, NaN and Inf pass through" in text
    assert "class Model(torch.nn.Module):" in text


def test_preflight_shows_every_finding_and_the_verdict() -> None:
    from kernelwright.toolexec.preflight import Finding as Seen
    from kernelwright.toolexec.preflight import PreflightReport

    good = Seen(check="repeatable", outcome="ok", message="two runs agree bit for bit", workload="small")
    bad = Seen(check="zeros", outcome="unfit", message="a kernel that returns [zeros] passes", workload="large")
    text = preflight_text(PreflightReport(task_name="blur", task_id="x", findings=(good, bad)), columns=80)
    assert "blur: not fit to be judged" in text and "a kernel that returns [zeros] passes" in text and "large" in text
    assert "blur: fit to be judged" in preflight_text(PreflightReport(task_name="blur", task_id="x", findings=(good,)))


@pytest.mark.parametrize("columns", (80, 120))
def test_the_story_has_plan_change_numbers_and_verdict(columns: int) -> None:
    text = run_story(a_blur_run(), columns=columns)
    flat = " ".join(text.split())
    for piece in ("Round 4", "Predicted 1.05x, measured 1.12x [1.10, 1.14].", "Confirmed: it did what was expected.",
                  "-VECTOR = 8", "+VECTOR = 16", "taken from solution:blur-ladder#3", "$ kernelwright optimize",
                  "1.31x speed-up"):  # fmt: skip
        assert piece in flat, piece
    assert lines_within(text, columns)
    assert "No decision was taken." in run_story(a_run_where_nothing_fitted(), columns=columns)


def test_doctor_says_what_is_needed_and_how_to_get_it() -> None:
    useful = Finding(name="C++ compiler", ok=False, detail="none", remedy="apt-get install -y g++")
    good = Finding(name="python", ok=True, detail="3.12", needed=True)
    broken = Finding(name="torch", ok=False, detail="not installed", remedy="pip install torch", needed=True)
    assert "get it: apt-get install -y g++" in doctor_text([good, useful], columns=80)
    assert "1 thing would add to it" in doctor_text([good, useful], columns=80)
    assert "nothing is missing" in doctor_text([good], columns=80)
    assert "cannot work here yet: torch" in doctor_text([good, broken], columns=80)
