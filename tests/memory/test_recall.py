"""What is recalled for a task, in which order, and what is said of it."""

from pathlib import Path

import pytest
from fakes.records import a_task
from fakes.solutions import a_ladder_folder, a_recipe_folder

from kernelwright.memory.library import Library
from kernelwright.memory.recall import LibraryRecall, recorded, solution_text, task_text
from kernelwright.records import (
    ArgumentFacts,
    OperationFacts,
    ReviewState,
    Solution,
    Task,
    TaskFacts,
    WorkloadFacts,
)

SOFTMAX = (
    "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, -1)\n"
)


def facts_of(task: Task, *ops: str, dtype: str = "float32", shape: tuple[int, ...] = (64, 64)) -> TaskFacts:
    """Facts of a task whose exported graph has these operators."""
    operations = [OperationFacts(name=f"v{i}", op=f"aten.{op}.default") for i, op in enumerate(ops)]
    argument = ArgumentFacts(name="x", kind="input", dtype=dtype, shape=shape)
    workload = WorkloadFacts(workload="default", arguments=(argument,), operations=tuple(operations))
    return TaskFacts(task_id=task.id, workloads=(workload,))


def blur(**fields) -> Task:
    return a_task(**{"torch_ops": ("avg_pool2d", "box filter"), **fields})


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A blur of this task, a softmax, a norm, and a general stencil recipe."""
    root = tmp_path / "shelf"
    a_ladder_folder(root, "box-blur")
    softmax = {
        "Separable box blur": "Row softmax",
        "Mean over a square window, stride one: two passes": "Softmax of rows in one pass with a running maximum",
        " of running sums instead of a nested window": "",
        "[F.avg_pool2d, box filter]": "[softmax, Softmax]",
        "ops: [avg_pool2d]": "ops: [_softmax]",
        "Sums along rows, then along columns.": "One pass over the row.",
    }
    a_ladder_folder(root, "softmax", family="softmax", task="softmax_rows", edit=softmax)
    norm = {
        **softmax,
        "[F.avg_pool2d, box filter]": "[layer_norm, LayerNorm]",
        "ops: [avg_pool2d]": "ops: [native_layer_norm]",
        "Separable box blur": "Layer norm",
    }
    a_ladder_folder(root, "layer-norm", family="norm", task="layer_norm", edit=norm)
    a_recipe_folder(root, "stencil-tiles")
    return root


def recall_from(shelf: Path, **options) -> LibraryRecall:
    return LibraryRecall(Library(user=shelf, shipped=None), **options)


def ids(recalled) -> list[str]:
    return [r.solution.id for r in recalled]


def test_the_nearest_comes_first(shelf: Path) -> None:
    recall = recall_from(shelf)
    task = blur()
    assert ids(recall.recall(task, facts_of(task, "avg_pool2d"), languages=()))[:2] == ["box-blur", "stencil-tiles"]
    task = a_task("rows", family="softmax", reference=SOFTMAX, torch_ops=("softmax",), description="Softmax.")
    assert ids(recall.recall(task, facts_of(task, "_softmax"), languages=()))[0] == "softmax"


def test_copies_make_room_for_another_way_without_an_index_too(shelf: Path) -> None:
    task = blur()
    for copy in ("box-blur-2", "box-blur-3"):
        a_ladder_folder(shelf, copy)
    found = ids(recall_from(shelf).recall(task, facts_of(task, "avg_pool2d"), languages=()))
    assert found[:2] == ["box-blur", "stencil-tiles"] and set(found[2:4]) == {"box-blur-2", "box-blur-3"}


def test_layout_operators_hardly_count(shelf: Path) -> None:
    task = a_task("x", family="unknown", reference=SOFTMAX, description="")
    plain = recall_from(shelf).recall(task, facts_of(task, "_softmax"), languages=())[0]
    moved = recall_from(shelf).recall(task, facts_of(task, "view", "permute", "_softmax", "clone"), languages=())[0]
    assert plain.solution.id == moved.solution.id == "softmax"
    assert moved.score > 0.9 * plain.score


def test_without_an_exported_graph_names_decide(shelf: Path) -> None:
    task = a_task("x", family="unknown", reference=SOFTMAX, description="")
    found = recall_from(shelf).recall(task, facts_of(task), languages=())
    assert ids(found)[0] == "softmax"
    assert "operators in common: softmax" in found[0].reasons


def test_a_task_of_another_kind_says_that_nothing_matches(shelf: Path) -> None:
    task = a_task("x", family="spectral", reference="import torch\n", description="A Fourier transform.")
    assert recall_from(shelf).recall(task, facts_of(task, "fft_r2c"), languages=()) == []


def test_only_the_languages_that_are_asked_for(shelf: Path) -> None:
    task = blur()
    facts = facts_of(task, "avg_pool2d")
    assert set(ids(recall_from(shelf).recall(task, facts, languages=["halide"]))) == {"stencil-tiles"}
    assert "stencil-tiles" not in ids(recall_from(shelf).recall(task, facts, languages=["cpp"]))
    assert recall_from(shelf).recall(task, facts, languages=["triton"]) == []


def test_renaming_a_task_changes_nothing_but_the_mark(shelf: Path) -> None:
    recall = recall_from(shelf)
    by_name = {}
    for name in ("box_blur_3x3", "19_ReLU", "softmax_rows", "layer-norm"):
        task = blur(name=name)
        found = recall.recall(task, facts_of(task, "avg_pool2d"), languages=())
        by_name[name] = [(r.solution.id, r.score) for r in found]
        assert {r.solution.id for r in found if r.same_task} <= {"box-blur", "softmax", "layer-norm"}
    assert len(by_name["19_ReLU"]) >= 2
    assert all(ranking == by_name["19_ReLU"] for ranking in by_name.values())


def test_what_was_made_for_this_very_task_can_be_left_out(shelf: Path) -> None:
    task = blur(name="Box-Blur 3x3".replace(" ", "_"))
    recall, facts = recall_from(shelf), facts_of(task, "avg_pool2d")
    first = recall.recall(task, facts, languages=())[0]
    assert first.same_task and first.reasons[0] == "made for this very task"
    without = recall.recall(task, facts, languages=(), exclude_same_task=True)
    assert "box-blur" not in ids(without) and not any(r.same_task for r in without)
    assert "stencil-tiles" in ids(without), "a general recipe is made for no task"


def test_assumptions_that_do_not_hold_are_told_and_cost(shelf: Path) -> None:
    task = blur()
    recall = recall_from(shelf)
    good = recall.recall(task, facts_of(task, "avg_pool2d"), languages=["cpp"])[0]
    half = recall.recall(task, facts_of(task, "avg_pool2d", dtype="float16"), languages=["cpp"])[0]
    assert good.solution.id == half.solution.id == "box-blur"
    assert "written for float32, the task has float16" in half.reasons
    assert half.score < good.score
    assert "not for: strides above one" in good.reasons


def test_conditions_that_are_read_elsewhere_are_told_too(shelf: Path) -> None:
    def unmet(solution: Solution, facts: TaskFacts) -> list[str]:
        shape = facts.workloads[0].of_kind("input")[0].shape
        return (
            []
            if len(shape) == solution.applies.get("ndim", len(shape))
            else [f"needs {solution.applies['ndim']} dimensions"]
        )

    task = blur()
    flat = recall_from(shelf, unmet=unmet).recall(task, facts_of(task, "avg_pool2d"), languages=["cpp"])[0]
    deep = recall_from(shelf, unmet=unmet).recall(
        task, facts_of(task, "avg_pool2d", shape=(1, 1, 64, 64)), languages=["cpp"]
    )[0]
    assert "needs 4 dimensions" in flat.reasons and "needs 4 dimensions" not in deep.reasons
    assert flat.score < deep.score


def test_work_that_the_task_does_not_do_is_told(shelf: Path) -> None:
    task = a_task("x", family="softmax", reference=SOFTMAX, description="Softmax: a running maximum of rows.")
    found = {r.solution.id: r for r in recall_from(shelf).recall(task, facts_of(task, "_softmax"), languages=())}
    assert "does layer_norm, which the task does not" in found["layer-norm"].reasons
    assert "no operator in common" in found["layer-norm"].reasons


def test_a_form_of_several_is_enough(tmp_path: Path) -> None:
    edit = {"ops: [avg_pool2d]": "ops_any: [[mul, sum], [avg_pool2d]]"}
    a_ladder_folder(tmp_path, "box-blur", edit=edit)
    task = blur()
    found = recall_from(tmp_path).recall(task, facts_of(task, "avg_pool2d"), languages=())[0]
    assert not [r for r in found.reasons if "which the task does not" in r]


def test_a_known_bottleneck_prefers_what_addresses_it(shelf: Path) -> None:
    task = blur()
    recall, facts = recall_from(shelf), facts_of(task, "avg_pool2d")
    plain = {r.solution.id: r.score for r in recall.recall(task, facts, languages=())}
    memory = {r.solution.id: r for r in recall.recall(task, facts, languages=(), bottleneck="memory")}
    assert memory["stencil-tiles"].score > plain["stencil-tiles"]
    assert "addresses the memory bottleneck: tiles" in memory["stencil-tiles"].reasons
    assert memory["box-blur"].score == plain["box-blur"]


def test_what_is_not_promoted_is_recalled_only_when_asked_for(tmp_path: Path) -> None:
    a_ladder_folder(tmp_path, "box-blur", state="proposed")
    task = blur()
    facts = facts_of(task, "avg_pool2d")
    assert recall_from(tmp_path).recall(task, facts, languages=()) == []
    asked = recall_from(tmp_path, states=(ReviewState.PROMOTED, ReviewState.PROPOSED))
    assert ids(asked.recall(task, facts, languages=())) == ["box-blur"]


def test_equals_stand_in_order_of_their_ids_and_the_limit_holds(tmp_path: Path) -> None:
    for id in ("c", "a", "d", "b"):
        a_ladder_folder(tmp_path, id)
    task = blur()
    found = recall_from(tmp_path).recall(task, facts_of(task, "avg_pool2d"), languages=(), limit=3)
    assert ids(found) == ["a", "b", "c"]
    assert len({r.score for r in found}) == 1


def test_a_new_entry_is_found_at_once(shelf: Path) -> None:
    recall, task = recall_from(shelf), blur()
    facts = facts_of(task, "avg_pool2d")
    assert "another-blur" not in ids(recall.recall(task, facts, languages=()))
    a_ladder_folder(shelf, "another-blur")
    found = ids(recall.recall(task, facts, languages=()))[:3]
    assert found == ["another-blur", "stencil-tiles", "box-blur"], "the near-copy makes room for another way"


def test_neither_id_nor_task_name_are_searched(shelf: Path) -> None:
    solution = Library(user=shelf, shipped=None).get("stencil-tiles").model_copy(update={"id": "zzz", "task": "qqq"})
    assert "zzz" not in solution_text(solution) and "qqq" not in solution_text(solution)
    assert "zzz" not in task_text(blur(name="zzz"))


def test_a_recall_is_recorded_as_plain_data(shelf: Path) -> None:
    task = blur()
    found = recall_from(shelf).recall(task, facts_of(task, "avg_pool2d"), languages=())
    first = recorded(found)[0]
    assert first["id"] == "box-blur" and first["same_task"] is True and first["review"] == "promoted"
    assert first["score"] == found[0].score and first["reasons"] == list(found[0].reasons)


def test_without_evidence_there_is_none(shelf: Path) -> None:
    assert recall_from(shelf).evidence(family="stencil") == []
