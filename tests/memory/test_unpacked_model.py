"""The unpacked model gives the same vectors, is kept whole or not at all, and is done without where it is broken."""

from pathlib import Path

import numpy as np
import pytest

from kernelwright.memory import embedding, unpacked_model
from kernelwright.memory.embedding import DEFAULT_MODEL, MiniLM, embedder, keep_unpacked

TEXTS = ["softmax of every row", "y = F.layer_norm(x, (1024,))", *(f"tile {i} of a product" for i in range(20))]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index") / "model"
    keep_unpacked(DEFAULT_MODEL, folder)
    return folder


def test_its_vectors_are_the_models_own(kept: Path) -> None:
    (place,) = kept.iterdir()
    assert {f.name for f in place.iterdir()} == {unpacked_model.MODEL_FILE, unpacked_model.WEIGHTS_FILE}
    np.testing.assert_allclose(MiniLM(kept).embed(TEXTS), embedder().embed(TEXTS), atol=1e-5)


def test_what_is_there_is_not_made_again(kept: Path) -> None:
    before = [f.stat().st_mtime_ns for f in sorted(kept.rglob("*"))]
    keep_unpacked(DEFAULT_MODEL, kept)
    assert [f.stat().st_mtime_ns for f in sorted(kept.rglob("*"))] == before


def test_a_broken_file_is_told_and_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = unpacked_model._place(embedding.MINILM_SHA256, tmp_path)
    place.mkdir()
    (place / unpacked_model.MODEL_FILE).write_bytes(b"half a file")
    assert MiniLM(tmp_path).embed(TEXTS[:1]).shape == (1, 384)
    assert str(place) in caplog.text


def test_a_folder_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    keep_unpacked(DEFAULT_MODEL, tmp_path / "file" / "model")
    assert not list(tmp_path.rglob("*.bin"))
