"""Guards are on for everybody, and a verdict without one says so."""

import pytest

from kernelwright.config import RunConfig
from kernelwright.protocols import JudgeSettings
from kernelwright.toolexec.guards import ALL, NOTE, Guards


def test_all_are_on():
    assert ALL.off == () and ALL.notes == ()
    assert len(Guards.__dataclass_fields__) >= 20


def test_what_is_off_is_said():
    some = Guards(poison=False, fresh_content=False)
    assert some.off == ("fresh_content", "poison")
    assert some.notes == (NOTE + "fresh_content, poison",)


def test_they_cannot_be_changed():
    with pytest.raises(AttributeError):
        ALL.poison = False  # type: ignore[misc]


def test_no_setting_reaches_them():
    assert "guards" not in str(RunConfig.model_json_schema())
    assert not {"guards", *Guards.__dataclass_fields__} & set(JudgeSettings.__dataclass_fields__)
