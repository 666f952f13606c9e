"""Suite files, the selection of KernelBench's tasks, and plans."""

from pathlib import Path

import pytest

from kernelwright.errors import ConfigError, KernelwrightError, TaskError, UnknownName
from kernelwright.records import KernelBenchSelection, SuiteDefinition
from kernelwright.suite.cells import cells_of, config_of, limit_s
from kernelwright.suite.definition import TABLE, make_plan, read_suite, shipped_names, shipped_suites
from kernelwright.suite.selection import read_table, select
from kernelwright.tasks.loading import shipped_tasks

FILE = "import torch\nN = 4\nclass Model(torch.nn.Module):\n    pass\ndef get_inputs():\n    return []\n"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A KernelBench checkout with three files."""
    for name in ("level1/19_ReLU.py", "level1/23_Softmax.py", "level2/12_Gemm.py"):
        path = tmp_path / "KernelBench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILE)
    return tmp_path / "KernelBench"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(
        "level,id,name,family,scaled_overrides_tested,degenerate_fp32_tol_1e-4\n"
        '1,19,19_ReLU,elementwise,"{""N"": 2}",\n1,23,23_Softmax,softmax,,zeros+mean\n2,12,12_Gemm,matmul,"{}",\n'
    )
    return path


def test_shipped_suites_name_shipped_tasks() -> None:
    assert {"shipped", "quick", "kernelbench-44", "gpu-smoke"} <= set(shipped_names())
    there = {p.name for p in shipped_tasks().iterdir() if (p / "task.yaml").exists()}
    for name in ("shipped", "quick"):
        plan = make_plan(read_suite(name), suite_id="x")
        assert {t.task for t in plan.tasks} <= there
    assert {t.task for t in make_plan(read_suite("shipped"), suite_id="x").tasks} == there
    assert len(there) >= 20


def test_a_pattern_stands_for_the_files_that_fit(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / "solutions" / name).mkdir(parents=True)
        (tmp_path / "solutions" / name / "reference.py").write_text(FILE)
    (tmp_path / "suites").mkdir()
    file = tmp_path / "suites" / "s.yaml"
    file.write_text("name: s\ntasks: [row_sum, '../solutions/*/reference.py', 'none/*.py']\n")
    tasks = make_plan(read_suite(str(file)), suite_id="x").tasks
    assert [t.key for t in tasks] == ["row_sum", "a", "b"]
    assert tasks[1].task == str((tmp_path / "solutions" / "a" / "reference.py").resolve())
    file.write_text("name: s\ntasks: ['none/*.py']\n")
    with pytest.raises(ConfigError, match="no file fits"):
        read_suite(str(file))


def test_the_shipped_table_knows_every_task_of_the_shipped_selection() -> None:
    rows = read_table(shipped_suites() / TABLE)
    ids = read_suite("kernelbench-44").kernelbench.ids
    assert len(rows) == 250 and len(ids) == 44
    assert all(rows[tuple(map(int, i.split("/")))].overrides for i in ids)


def test_ids_families_levels_and_shapes_select(bench: Path, table: Path) -> None:
    rows = read_table(table)

    def keys(**chosen: object) -> list[str]:
        return [t.key for t in select(KernelBenchSelection(root=str(bench), **chosen), rows)]

    assert keys() == ["level1-19_ReLU", "level1-23_Softmax", "level2-12_Gemm"]
    assert keys(levels=(1,)) == ["level1-19_ReLU", "level1-23_Softmax"]
    assert keys(ids=("1/19-23",), families=("softmax",)) == ["level1-23_Softmax"]
    assert keys(limit=1) == ["level1-19_ReLU"]
    (reduced,) = select(KernelBenchSelection(root=str(bench), ids=("1/19",), shapes="reduced"), rows)
    assert reduced.set == {"N": 2} and (reduced.level, reduced.number, reduced.file) == (1, 19, "19_ReLU.py")
    (softmax,) = select(KernelBenchSelection(root=str(bench), ids=("1/23",)), rows)
    assert softmax.degenerate == ("zeros", "mean") and softmax.set == {}


@pytest.mark.parametrize(
    ("chosen", "error", "words"),
    [
        ({"ids": ("19",)}, ConfigError, "is no KernelBench id"),
        ({"ids": ("1/99",)}, UnknownName, "1/99"),
        ({"families": ("sofmax",)}, UnknownName, "softmax"),
        ({"ids": ("1/23",), "shapes": "reduced"}, ConfigError, "no reduced shapes of level1/23_Softmax.py"),
        ({"levels": (4,)}, ConfigError, "holds no task"),
    ],
)
def test_a_selection_that_cannot_be_met_says_so(
    bench: Path, table: Path, chosen: dict, error: type[KernelwrightError], words: str
) -> None:
    with pytest.raises(error) as raised:
        select(KernelBenchSelection(root=str(bench), **chosen), read_table(table))
    assert words in str(raised.value)


def test_without_a_checkout_the_hint_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELBENCH_ROOT", raising=False)
    with pytest.raises(TaskError, match="KERNELBENCH_ROOT is not set"):
        select(KernelBenchSelection(), {})


def test_a_kernelbench_folder_is_a_suite(bench: Path) -> None:
    suite = read_suite(str(bench))
    assert [t.number for t in make_plan(suite, suite_id="x").tasks] == [19, 23, 12]


def test_relative_paths_start_at_the_suite_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    file = tmp_path / "s.yaml"
    file.write_text("format: kernelwright/suite/1\nname: s\ntasks: [mine.py, {task: mine.py, set: {N: 2}}, row_sum]\n")
    plan = make_plan(read_suite(str(file)), suite_id="x")
    assert [t.task for t in plan.tasks] == [str(tmp_path / "mine.py")] * 2 + ["row_sum"]
    assert [t.key for t in plan.tasks] == ["mine", "mine-2", "row_sum"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: s\n", "needs `tasks` or `kernelbench`"),
        ("name: s\ntasks: [a]\nsampels: 3\n", "sampels"),
        ("format: kernelwright/task/1\nname: s\n", "expected format kernelwright/suite/1"),
        ("- a\n", "must be a mapping"),
        ("name: [", "is no suite"),
    ],
)
def test_a_wrong_suite_file_is_a_users_mistake(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_suite(str(file))
    assert words in str(raised.value)


def test_options_are_layered_suite_then_command_then_arm(tmp_path: Path) -> None:
    overlay = tmp_path / "o.yaml"
    overlay.write_text("budget: {rounds: 5}\n")
    suite = SuiteDefinition(
        name="s", tasks=("row_sum",), options={"budget": {"rounds": 3, "seconds": 30}, "threads": 2},
        arms={"full": {}, "bare": {"library.recall": False, "search": {"patience": 7}}},
    )  # fmt: skip
    plan = make_plan(suite, suite_id="x", files=[overlay], overrides=["search.patience=4"], values={"threads": 1})
    full, bare = plan.arms["full"], plan.arms["bare"]
    assert (full["budget"]["rounds"], full["budget"]["seconds"], full["threads"]) == (5, 30, 1)
    assert (full["search"]["patience"], bare["search"]["patience"]) == (4, 7)
    assert full["library"]["recall"] and not bare["library"]["recall"]
    assert plan.switches == {"full": "as configured", "bare": "library.recall=False, search.patience=7"}
    with pytest.raises(ConfigError, match="librry.recall"):
        make_plan(suite.model_copy(update={"arms": {"a": {"librry.recall": False}}}), suite_id="x")


def test_arms_are_interleaved_with_the_same_seeds_and_each_is_first_in_its_turn() -> None:
    suite = SuiteDefinition(name="s", tasks=("a", "b"), samples=2, seed=5, arms={"x": {}, "y": {}})
    plan = make_plan(suite, suite_id="x")
    assert [c.key for c in cells_of(plan)] == ["a.x.0", "a.y.0", "b.y.0", "b.x.0", "a.y.1", "a.x.1", "b.x.1", "b.y.1"]
    assert [c.seed for c in cells_of(plan)] == [5] * 4 + [6] * 4
    last = cells_of(plan)[-1]
    assert config_of(plan, last, "emulated").seed == 6 and config_of(plan, last, "emulated").device == "emulated"
    assert limit_s(plan, last) == 3 * plan.arms["y"]["budget"]["seconds"] + 600


def test_a_plan_outlives_options_that_came_up_later() -> None:
    plan = make_plan(SuiteDefinition(name="s", tasks=("a",), options={"threads": 2}), suite_id="x")
    older = {k: v for k, v in plan.arms["main"].items() if k not in ("seed", "profile")}
    plan = plan.model_copy(update={"arms": {"main": older}})
    config = config_of(plan, cells_of(plan)[0], "cpu")
    assert config.profile and config.threads == 2


def test_an_arm_cannot_ask_for_what_all_arms_share() -> None:
    suite = SuiteDefinition(name="s", tasks=("a",), devices=("cpu",))
    with pytest.raises(ConfigError, match="change nothing"):
        make_plan(suite.model_copy(update={"arms": {"x": {}, "y": {"device": "emulated"}}}), suite_id="x")
    plan = make_plan(suite, suite_id="x", overrides=["device=none", "seed=7"])
    assert plan.devices == ("none",) and plan.seed == 7
