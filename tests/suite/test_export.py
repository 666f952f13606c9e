"""KernelBench's files, read back as its own analysis script reads them."""

import json
from pathlib import Path

import pytest
from suite.rows import a_plan, a_row

from kernelwright.errors import ConfigError
from kernelwright.records import SuiteTask
from kernelwright.suite.export import export_kernelbench

RELU = SuiteTask(key="level1-19_ReLU", task="/kb/level1/19_ReLU.py", level=1, number=19, file="19_ReLU.py")
GEMM = SuiteTask(key="level1-2_Gemm", task="/kb/level1/2_Gemm.py", level=1, number=2, file="2_Gemm.py")
LATE = SuiteTask(key="level1-30_Late", task="/kb/level1/30_Late.py", level=1, number=30, file="30_Late.py")
ODD = SuiteTask(key="level1-31_Odd", task="/kb/level1/31_Odd.py", level=1, number=31, file="31_Odd.py")
DEEP = SuiteTask(key="level2-7_Deep", task="/kb/level2/7_Deep.py", level=2, number=7, file="7_Deep.py")


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    rows = [
        a_row(RELU.key, 2.0, sample=0), a_row(RELU.key, None, sample=1, correct=False),
        a_row(GEMM.key, 1.0, sample=0), a_row(GEMM.key, 4.0, sample=1),
        a_row(DEEP.key, None, sample=0, compiled=False, outcome="crashed", detail="signal 9"),
        a_row(LATE.key, None, sample=0, outcome="crashed", baselines_us={}), a_row(ODD.key, 2.0, baselines_us={}),
        a_row("row_sum", 3.0),
    ]  # fmt: skip
    export_kernelbench(a_plan(RELU, GEMM, LATE, ODD, DEEP, "row_sum", samples=2), rows, arm="main", folder=tmp_path)
    return tmp_path


def test_results_have_the_form_that_its_evaluation_writes(exported: Path) -> None:
    results = json.loads((exported / "runs" / "made_level1" / "eval_results.json").read_text())
    assert list(results) == ["2", "19", "30", "31"], "sorted by number, as strings"
    first, second = results["19"]
    assert set(first) == {"sample_id", "compiled", "correctness", "metadata", "runtime", "runtime_stats"}
    assert (first["sample_id"], first["correctness"], first["runtime"]) == (0, True, 0.1)
    assert set(first["runtime_stats"]) == {"mean", "std", "min", "max", "num_trials", "hardware", "device"}
    assert (second["correctness"], second["runtime"], second["runtime_stats"]) == (False, -1.0, {})
    deep = json.loads((exported / "runs" / "made_level2" / "eval_results.json").read_text())
    assert deep["7"][0]["compiled"] is False and deep["7"][0]["metadata"]["outcome"] == "crashed"


def test_baselines_have_the_form_of_its_timing_files(exported: Path) -> None:
    times = json.loads((exported / "timing" / "AMD_EPYC_9R14" / "baseline_time_torch.json").read_text())
    assert set(times) == {"level1", "level2"} and times["level1"]["19_ReLU.py"]["mean"] == 0.9
    name = "baseline_time_torch_compile_inductor_default.json"
    compiled = json.loads((exported / "timing" / "AMD_EPYC_9R14" / name).read_text())
    assert compiled["level1"]["2_Gemm.py"]["num_trials"] == 60 and compiled["level1"]["2_Gemm.py"]["mean"] == 0.2


def test_a_task_that_failed_before_its_baselines_still_counts(exported: Path) -> None:
    """Its analysis leaves out what has no baseline; the time itself is looked at for correct samples alone."""
    times = json.loads((exported / "timing" / "AMD_EPYC_9R14" / "baseline_time_torch.json").read_text())
    assert times["level1"]["30_Late.py"]["mean"] == -1.0 and times["level1"]["30_Late.py"]["num_trials"] == 0
    assert "31_Odd.py" not in times["level1"], "nothing is made up for a task that was done right"


def test_its_analysis_gives_what_was_put_in(exported: Path) -> None:
    """The steps of its benchmark_eval_analysis.py: sample 0, aligned by file name, mean over runtime."""
    results = json.loads((exported / "runs" / "made_level1" / "eval_results.json").read_text())
    times = json.loads((exported / "timing" / "AMD_EPYC_9R14" / "baseline_time_torch.json").read_text())
    ratios = []
    for number, file in (("2", "2_Gemm.py"), ("19", "19_ReLU.py")):
        (entry,) = [r for r in results[number] if r["sample_id"] == 0]
        ratios.append(times["level1"][file]["mean"] / entry["runtime"])
    assert ratios == pytest.approx([0.9 / 0.2, 0.9 / 0.1])


def test_pass_at_k_has_averages_metadata_and_problems(exported: Path) -> None:
    told = json.loads((exported / "runs" / "made_level1" / "pass_at_k_results.json").read_text())
    assert told["problems"]["19"] == {"total_samples": 2, "correct_samples": 1, "pass@1": 0.5, "pass@2": 1.0}
    assert told["averages"] == {"avg_pass@1": 0.625, "avg_pass@2": 1.0}
    assert told["metadata"]["total_correct_samples"] == 4


def test_without_kernelbench_tasks_there_is_nothing_to_export(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to export"):
        export_kernelbench(a_plan("row_sum"), [a_row("row_sum", 2.0)], arm="main", folder=tmp_path)
