"""Several rankings as one: ranks added up, near-copies moved down, a second opinion in the third place."""

from kernelwright.memory.fusion import diversified, reciprocal_ranks, second_opinion

SCORES = {"a1": 1.0, "a2": 0.9, "a3": 0.8, "a4": 0.75, "b1": 0.7, "c1": 0.2}


def opinion(names: list[str], share: float) -> list[str]:
    return second_opinion(names, score=SCORES.__getitem__, same=lambda x, y: x[0] == y[0], share=share)


def test_ranks_are_added_up_and_ties_go_by_key() -> None:
    fused = reciprocal_ranks({"x": ["a", "b"], "y": ["b", "a"], "z": ["c"]}, {"z": 0.0})
    assert [f.key for f in fused] == ["a", "b", "c"]
    assert fused[0].score == fused[1].score and fused[2].score == 0
    assert fused[0].ranks == {"x": 1, "y": 2}


def test_what_repeats_something_better_moves_down() -> None:
    names = ["a1", "a2", "b1"]
    kept = diversified(names, score=SCORES.__getitem__, alike=lambda x, y: x[0] == y[0], limit=3)
    assert kept == ["a1", "a2", "b1"]  # 0.9 * 0.85 is more than 0.7
    kept = diversified(["a1", "a3", "b1"], score=SCORES.__getitem__, alike=lambda x, y: x[0] == y[0], limit=3)
    assert kept == ["a1", "b1", "a3"]


def test_the_third_place_goes_to_the_best_of_another_kind_that_is_near() -> None:
    everything = ["a1", "a2", "a3", "a4", "b1", "c1"]
    assert opinion(everything, 0.65) == ["a1", "a2", "b1", "a3", "a4", "c1"]
    assert opinion(everything, 0.95) == everything  # too far behind
    assert opinion(["a1", "a2", "b1", "a3"], 0.1) == ["a1", "a2", "b1", "a3"]  # there is one already
    assert opinion(["a1", "a2", "a3"], 0.1) == ["a1", "a2", "a3"]
