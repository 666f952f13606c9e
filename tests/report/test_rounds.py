"""The run told round by round."""

from fakes.runs import a_blur_run, a_run_where_nothing_fitted

from kernelwright.report.rounds import tell_rounds


def test_rounds_in_order_with_their_moves() -> None:
    rounds = tell_rounds(a_blur_run())
    assert [(r.number, len(r.moves)) for r in rounds] == [(1, 2), (2, 2), (3, 2), (4, 2)]
    assert rounds[1].result == "1 of 2 decisions passed; best 1.17x [1.15, 1.19] over compile"


def test_a_move_tells_plan_change_and_outcome() -> None:
    move = tell_rounds(a_blur_run())[0].moves[1]
    assert dict(move.why)["Evidence"].startswith("profile: 4 %")
    assert dict(move.why)["Starts from"].startswith("candidate ")
    assert move.comparison == "Predicted 6.00x, measured 9.77x [9.62, 9.92]"
    assert move.verdict.startswith("confirmed")
    assert move.change.lines


def test_failures_carry_their_log_and_profiles_their_bottleneck() -> None:
    rounds = tell_rounds(a_blur_run())
    failed = rounds[1].moves[0]
    assert failed.failure.startswith("no build: ")
    assert "\x1b" not in failed.log
    assert rounds[3].moves[0].bottleneck.startswith("memory: 78 %")
    assert rounds[3].moves[1].failure == ""


def test_a_run_without_decisions_has_no_rounds() -> None:
    assert tell_rounds(a_run_where_nothing_fitted()) == []
