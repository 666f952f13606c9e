"""Which tasks are refused, and why."""

import pytest
from fakes.kernels import REFERENCE, small_task

from kernelwright.errors import ReferenceBroken
from kernelwright.protocols import JudgeSettings
from kernelwright.toolexec.executors.local import LocalExecutor
from kernelwright.toolexec.preflight import preflight

ONE = ({"name": "small"},)


def checked(old: str = "", new: str = "", **changes):
    text = REFERENCE.replace(old, new) if old else REFERENCE
    return preflight(small_task(text, workloads=ONE, **changes), JudgeSettings())


def outcomes(report) -> dict[str, str]:
    return {f.message: f.outcome for f in report.findings}


def test_a_fit_task_rejects_every_control():
    report = checked()
    assert report.fit
    told = outcomes(report)
    for name in ("zeros", "mean", "the answer to another seed", "lower precision", "input x passed through"):
        assert told[f"rejects {name}"] == "ok"
    assert report.to_json()["format"] == "kernelwright/preflight/1"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("return torch.relu(", "raise ValueError('no'); (", "ValueError: no"),
        ("return torch.relu(", "return torch.log(-torch.abs(", "NaN or Inf"),
        ("return torch.relu(", "return torch.rand_like(x) + (", "another result on the same inputs"),
        ("return torch.relu(", "self.n = getattr(self, 'n', 0) + 1; return self.n * (", "another result"),
        ("return torch.relu(", "self.bias.add_(1.0); return torch.relu(", "forward changes bias"),
        ("return [torch.randn(rows, cols)]", "return [torch.randn(rows, cols), object()]", "neither tensor nor number"),
        ("import torch.nn as nn", "import torch.nn as nn, no_such_module", "no_such_module"),
    ],
    ids=["raises", "nan", "random", "stateful", "buffers", "object", "import"],
)
def test_a_broken_reference_is_named(old, new, words):
    if "log(" in new:
        new_text = REFERENCE.replace("+ self.bias)", "+ self.bias))").replace(old, new)
        report = preflight(small_task(new_text, workloads=ONE), JudgeSettings())
    else:
        report = checked(old, new)
    assert not report.fit
    broken = [f.message for f in report.findings if f.outcome == "broken"]
    assert len(broken) == 1
    assert words in broken[0]


def test_a_task_whose_result_is_constant_is_unfit():
    report = checked("return torch.relu(", "return 0 * x + 1.0 + 1e-9 * torch.relu(")
    assert not report.fit
    assert outcomes(report)["accepts mean"] == "unfit"


def test_opening_a_broken_task_raises_and_leaves_nothing(tmp_path):
    task = small_task(REFERENCE.replace("return torch.relu(", "raise ValueError('no'); ("), workloads=ONE)
    with pytest.raises(ReferenceBroken, match="ValueError: no"):
        LocalExecutor().open(task, settings=JudgeSettings(cache_dir=tmp_path))


def messages(report, check: str) -> list[str]:
    return [f.message for f in report.findings if f.check == check]


def test_what_a_plain_allclose_accepts_is_told_and_how_it_is_repaired():
    report = checked(
        "self.weight * self.factor + self.bias)\n\n\ndef get_inputs():\n    return [torch.randn(rows, cols)]",
        "self.weight + self.bias)\n\n\ndef get_inputs():\n    return [torch.rand(rows, cols)]",
    )
    assert report.fit
    assert report.degenerate == {"0.0001": ("ident",), "0.01": ("ident",)}
    assert any("input x passed through" in m and "signed-normal" in m for m in messages(report, "repair"))
    assert any("would accept ident" in m for m in messages(report, "plain tolerance"))


def test_small_results_are_degenerate_by_a_plain_allclose_and_judged_all_the_same():
    report = checked("return torch.relu(", "return 1e-5 * torch.relu(")
    assert report.fit
    assert report.degenerate == dict.fromkeys(("0.0001", "0.01"), ("zeros", "mean", "stale"))


def test_weights_and_inputs_that_move_nothing_are_reported_and_refuse_nothing():
    report = checked("+ self.bias)", "+ self.bias) + 0 * self.bias.sum()")
    assert messages(report, "weights") == ["all of 2 weights move the result"]
    assert "rejects weights left at default" in messages(report, "control")
    report = checked("self.factor + self.bias)", "self.factor)")
    assert report.fit
    assert messages(report, "weights") == ["dead weights, which move no result: bias"]
    old = "return torch.relu(x * self.weight * self.factor + self.bias)"
    report = checked(old, "return 0 * x + self.weight.cumsum(0)")
    assert messages(report, "inputs") == ["changing x moves no result: a kernel need not read it"]


def test_a_result_without_elements_is_unfit():
    report = checked("rows = 33", "rows = 0")
    assert [f.outcome for f in report.findings if f.check == "size"] == ["unfit"]
