"""Every measurement says which judge took it, and what an older one kept is not taken for the newest one's."""

import pytest
from fakes.records import an_environment

from kernelwright.records.environment import FIRST_JUDGE
from kernelwright.toolexec.devices import device
from kernelwright.toolexec.judge_version import JUDGE_VERSION


@pytest.mark.parametrize("name", ["cpu", "none", "emulated"])
def test_every_environment_names_the_judge(name: str) -> None:
    assert device(name).environment(threads=1).judge == JUDGE_VERSION >= FIRST_JUDGE


def test_what_states_no_version_counts_as_the_first_judges() -> None:
    before, first, second = (an_environment().model_copy(update={"judge": n}) for n in (0, 1, 2))
    assert (before.judged_by, first.judged_by, second.judged_by) == (1, 1, 2)
    assert before.machine_id == first.machine_id, "what was cached before versions stays of use"
    assert second.machine_id != first.machine_id, "a later judge measures anew"
