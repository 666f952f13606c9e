"""What is learned from sentences: a text's kind of work, kept in a file that can be deleted or damaged."""

from pathlib import Path

import pytest

from kernelwright.memory.concepts import PHRASES
from kernelwright.memory.embedding import embedder
from kernelwright.memory.exemplars import concept_reader, learn, sentences


def test_every_sentence_asks_for_a_concept_of_the_lexicon() -> None:
    found = sentences()
    assert {concept for concept, _ in found} <= set(PHRASES)
    assert len(set(found)) == len(found) > 500
    texts = [text for _, text in found]
    assert len(set(texts)) == len(texts), "one sentence for two kinds of work teaches nothing"


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("the rows must become probabilities, exp is slow", "softmax"),
        ("y = torch.relu(x.matmul(weight.T) + bias)", "matmul"),
        ("every token is scaled by the inverse of its quadratic mean", "rms_norm"),
        ("add up all numbers in each line of a big array", "reduce"),
        ("grouped filter where no map sees another", "depthwise"),
    ],
)
def test_words_that_no_pattern_foresaw_are_understood(text: str, concept: str, tmp_path: Path) -> None:
    reader = concept_reader(embedder(), tmp_path / "kept.npz")
    told = reader.read(text, embedder().embed([text])[0])
    assert concept in list(told)[:2]


def test_what_is_kept_reads_alike_and_damage_is_made_good(tmp_path: Path) -> None:
    file, text = tmp_path / "kept.npz", "fuse bias and activation into the product"
    vector = embedder().embed([text])[0]
    first = concept_reader(embedder(), file).read(text, vector)
    assert concept_reader(embedder(), file).read(text, vector) == first
    file.write_bytes(b"not an archive")
    assert concept_reader(embedder(), file).read(text, vector) == pytest.approx(first)


def test_a_few_sentences_are_enough_to_tell_two_things_apart() -> None:
    pairs = (("softmax", "probabilities of a row"), ("cumsum", "running total"), ("cumsum", "prefix sums"))
    vectors = embedder().embed([text for _, text in pairs])
    reader = learn(pairs, vectors)
    assert next(iter(reader.read("prefix sums", vectors[2]))) == "cumsum"
    assert next(iter(reader.read("probabilities of a row", vectors[0]))) == "softmax"
