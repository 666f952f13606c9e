"""What an Evaluation says of the precision that a candidate computed in."""

import pytest
from fakes.kernels import RIGHT, cpp

from kernelwright.toolexec.judge.stated_precision import stated_precision


@pytest.mark.parametrize(
    ("dtypes", "error", "words"),
    [
        (["float32"], 1e-7, "as good as float32"),
        (["float32"], 2e-3, "as good as float16"),
        (["float64"], 1e-15, "as good as float64"),
        (["float64"], 1e-7, "as good as float32"),
        (["bfloat16"], 2e-3, "as good as bfloat16"),
        (["uint8"], 0.0, "whole numbers"),
        (["int64", "float32"], 1e-7, "as good as float32"),
    ],
)
def test_precision_is_told_by_the_error(dtypes, error, words):
    assert words in stated_precision(cpp(RIGHT), dtypes, error)


def test_relaxed_flags_are_told():
    assert "built with -ffast-math" in stated_precision(cpp(RIGHT, flags=("-ffast-math", "-O2")), ["float32"], 1e-7)
    assert "built" not in stated_precision(cpp(RIGHT, flags=("-O2",)), ["float32"], 1e-7)
