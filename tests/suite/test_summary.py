"""What is counted, what is left out, and two arms paired per task."""

import json
import math
from pathlib import Path

import pytest
from fakes.records import a_ratio
from suite.rows import a_plan, a_row

from kernelwright.report.suite_page import suite_content, suite_html, write_suite_report
from kernelwright.report.suite_rows import arm_line, cost_words, headline_lines, task_rows
from kernelwright.suite.comparison import compare, comparison_json
from kernelwright.suite.folder import SuiteFolder
from kernelwright.suite.summary import Costs, figures_json, summarize


def test_the_headline_counts_what_was_delivered() -> None:
    slower = a_row("c", 0.7)
    rows = [a_row("a", 2.0), a_row("b", None), slower, a_row("d", 4.0, confirmed=False)]
    (arm,) = summarize(a_plan("a", "b", "c", "d"), rows).arms.values()
    assert arm.whole.delivered.value == pytest.approx(2 ** (1 / 4)), "no confirmed gain is 1: the baseline itself"
    assert arm.whole.when_correct.value == pytest.approx((2 * 0.7 * 4) ** (1 / 3))
    assert (arm.whole.correct.value, arm.whole.gained.value) == (0.75, 0.25)
    assert arm.curve[0.0].value == 0.75 and arm.curve[1.0].value == 0.5


def test_degenerate_tasks_stand_apart() -> None:
    rows = [a_row("a", 2.0), a_row("b", 50.0, degenerate=("zeros",))]
    figures = summarize(a_plan("a", "b"), rows)
    (arm,) = figures.arms.values()
    assert [t.key for t in arm.tasks] == ["a"] and [t.key for t in arm.apart] == ["b"]
    assert arm.whole.delivered.value == pytest.approx(2.0)
    assert "a plain allclose accepts zeros" in suite_html(figures) and "50.0x" in suite_html(figures)


def test_samples_give_pass_at_k_and_the_best_one_is_shown() -> None:
    rows = [a_row("a", s, sample=i) for i, s in enumerate((1.5, None, 3.0))]
    (arm,) = summarize(a_plan("a", samples=3), rows).arms.values()
    assert {k: round(e.value, 3) for k, e in arm.pass_at.items()} == {1: 0.667, 2: 1.0, 3: 1.0}
    assert arm.tasks[0].best.speedup.value == 3.0
    assert arm.curve[2.0].value == pytest.approx(1 / 3) and arm.curve_of_best[2.0].value == 1.0


def test_failures_reduced_shapes_and_precedents_are_said() -> None:
    rows = [
        a_row("a", 2.0, reduced=True, same_task_precedent=True),
        a_row("b", None, outcome="timeout", detail="it hung", correct=False, run=""),
    ]
    (arm,) = summarize(a_plan("a", "b"), rows).arms.values()
    first, second = task_rows(arm.tasks)
    assert first[-1] == "reduced shapes; same-task precedent recalled"
    assert second[-1] == "timeout: it hung"
    assert any("recalled in 1 sample" in line for line in headline_lines(arm))


def test_unknown_costs_are_said_to_be_unknown() -> None:
    known = Costs.of([a_row("a", 2.0, tokens=1200, cost_usd=0.5, model_s=9.0), a_row("b", 2.0)])
    assert cost_words(known) == "2 min 00 s (build 40 s, measure 1 min 00 s, model 9.0 s), 1,200 tokens, $0.50"
    partly = Costs.of([a_row("a", 2.0, tokens=1200), a_row("b", 2.0, tokens=None, cost_usd=None, model_s=None)])
    assert "tokens unknown, cost unknown" in cost_words(partly)


def test_arms_are_paired_by_task_and_seed() -> None:
    plan = a_plan("a", "b", "c", arms=("full", "bare"), samples=2)
    rows = []
    for index, task in enumerate("abc"):
        family = "stencil" if task != "c" else "norm"
        for sample in (0, 1):
            base = 2.0 + index + 0.5 * sample
            rows.append(a_row(task, base, arm="full", sample=sample, family=family))
            ratio = 0.4 if family == "stencil" else 1.0
            rows.append(a_row(task, base * ratio, arm="bare", sample=sample, family=family))
    full, bare = summarize(plan, rows).arms.values()
    told = compare(full, bare, names=("full", "bare"))
    assert [round(p.ratio, 3) for p in told.pairs] == [0.447, 0.4, 1.0], "2.0 x 0.4 is no gain: 1 is delivered"
    assert told.whole.value == pytest.approx(math.exp(sum(math.log(p.ratio) for p in told.pairs) / 3))
    assert told.pairs[2].low < 1 < told.pairs[2].high and not told.pairs[2].shown
    assert set(told.families) == {"stencil", "norm"}
    assert told.unpaired == () and told.warnings == ()
    assert json.loads(json.dumps(comparison_json(told), allow_nan=False))["families"]["norm"]["high"] is None
    assert arm_line(told).startswith("bare against full: ")


def test_a_comparison_says_where_it_stumbles() -> None:
    first = summarize(a_plan("a", "b"), [a_row("a", 2.0), a_row("b", 2.0)]).arms["main"]
    others = [a_row("a", 2.2, machine="m2", task_id="1" * 16), a_row("c", 2.0)]
    second = summarize(a_plan("a", "c"), others).arms["main"]
    told = compare(first, second, names=("x", "y"))
    assert told.unpaired == ("b", "c") and [p.key for p in told.pairs] == ["a"]
    assert "different machines" in told.warnings[0] and "not the same in both: a" in told.warnings[1]
    assert "on one task" in arm_line(told)


def test_an_interval_of_one_sample_is_that_of_the_measurements() -> None:
    one = summarize(a_plan("a"), [a_row("a", 2.0)]).arms["main"]
    wide = a_row("a", 4.0).model_copy(update={"speedup": a_ratio(4.0, spread=0.1)})
    two = summarize(a_plan("a"), [wide]).arms["main"]
    (pair,) = compare(one, two, names=("x", "y")).pairs
    own = math.hypot(math.log(1.015 / 0.985) / 2, math.log(1.1 / 0.9) / 2)
    assert math.log(pair.high / pair.ratio) == pytest.approx(own)


def test_an_empty_suite_has_a_page() -> None:
    figures = summarize(a_plan("a"), [])
    assert "No task counts so far" in suite_html(figures)
    assert figures_json(figures)["done"] == 0 and suite_content(figures)["curve"] is None


def test_strangers_text_is_harmless_on_the_page() -> None:
    row = a_row("a", None, outcome="error", detail="<script>alert(1)</script>\x1b[31m", family="<b>")
    page = suite_html(summarize(a_plan("a"), [row]))
    assert "<script>" not in page and "\x1b" not in page and "&lt;script&gt;" in page


def test_a_report_over_250_tasks_and_5_samples_is_small(tmp_path: Path) -> None:
    keys = [f"level1-{i}_Some_Operator_With_A_Long_Name" for i in range(250)]
    folder = SuiteFolder(tmp_path)
    plan = a_plan(*keys, samples=5)
    plan.save(folder.plan_file)
    rows = [
        a_row(k, 0.6 + (i % 17) / 5 + s / 10, sample=s, family=f"family{i % 17}", reduced=i % 2 == 0)
        for i, k in enumerate(keys)
        for s in range(5)
    ]
    folder.rows_file.write_text("".join(r.to_line() + "\n" for r in rows))
    write_suite_report(folder)
    page = folder.report_html.read_text()
    assert len(page) < 5_000_000 and len(folder.report_json.read_text()) < 5_000_000
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert page.count("<tr>") >= 250 and page.count("<svg") == 2
    json.loads(folder.report_json.read_text())
