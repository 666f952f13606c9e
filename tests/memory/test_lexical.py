"""Words and BM25."""

import pytest

from kernelwright.memory.lexical import Bm25, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AvgPool2d", ["avg", "pool2d"]),
        ("F.avg_pool2d", ["avg", "pool2d"]),
        ("a 3x3 blur of the rows", ["3x3", "blur", "rows"]),
        ("self.forward(x)", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_rare_words_count_more_than_common_ones() -> None:
    index = Bm25({"a": "row kernel softmax", "b": "row kernel blur", "c": "row kernel scan"})
    assert index.score("a", ["softmax"]) > index.score("a", ["kernel"]) > 0
    assert index.score("b", ["softmax"]) == 0


def test_the_formula() -> None:
    # idf = ln(1 + (2 - 1 + 0.5) / (1 + 0.5)) = ln 2; tf part = 1 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / 1.5))
    assert Bm25({"a": "blur tiles", "b": "scan"}).score("a", ["blur"]) == pytest.approx(0.6931472 * 2.5 / 2.875)


def test_nothing_to_search() -> None:
    assert Bm25({"a": ""}).score("a", ["blur"]) == 0
