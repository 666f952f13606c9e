"""Two runs side by side."""

from dataclasses import replace

from fakes.records import an_environment
from fakes.runs import a_blur_run, a_run_where_nothing_fitted

from kernelwright.report.comparison import compare_runs


def test_properties_stand_side_by_side() -> None:
    compared = compare_runs(a_blur_run(), a_blur_run(seconds=90.0))
    rows = {row.label: row for row in compared.rows}
    assert rows["speed-up"].first == rows["speed-up"].second == "1.31x [1.29, 1.33]"
    assert rows["wall time"].differs and not rows["task"].differs
    assert rows["time, large"].first == "24.0 ms"
    assert compared.command == "kernelwright evaluate box_blur_3x3 best/model_new.py --against best/model_new.py"


def test_what_must_not_be_divided_is_said() -> None:
    other = replace(a_blur_run(), environment=an_environment(threads=2))
    assert "Machine, threads or versions differ" in compare_runs(a_blur_run(), other).cautions[0]
    strangers = compare_runs(a_blur_run(), a_run_where_nothing_fitted())
    assert strangers.cautions[0].startswith("The tasks differ")
    assert strangers.command == ""
    assert "only a paired measurement" in compare_runs(a_blur_run(), a_blur_run()).cautions[0]
