"""Which tier is reached, how it is told, and that a lower one is refused."""

import dataclasses

import pytest

from kernelwright.errors import ConfigError, UnknownName
from kernelwright.toolexec.sandbox import bubblewrap, landlock, tiers
from kernelwright.toolexec.sandbox.tiers import TIER_NAMES, WARNING, Tier, available, probe, require


def test_the_lowest_tier_is_always_there_and_shouts() -> None:
    found = available()
    assert [t.name for t in found] == [n for n in reversed(TIER_NAMES) if n in {t.name for t in found}]
    assert found[-1].name == "rlimits"
    assert found[-1].warning().startswith(WARNING) and "NO SANDBOX" in WARNING
    assert not [t for t in found[:-1] if t.warning()]
    assert all(t.lacks and t.detail for t in found)


def test_probing_is_done_once_and_gives_the_best() -> None:
    assert probe() is probe()
    assert probe().name == available()[0].name
    assert require(probe().name) is probe()
    assert require("rlimits") is probe()


def test_a_lower_tier_than_asked_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    low = dataclasses.replace(available()[-1], better="bubblewrap is not installed")
    monkeypatch.setattr(tiers, "probe", lambda: low)
    with pytest.raises(ConfigError, match="rlimits") as refused:
        require("landlock")
    assert refused.value.exit_code == 2
    assert "bubblewrap is not installed" in str(refused.value)
    with pytest.raises(UnknownName, match="did you mean 'landlock'"):
        require("landlok")


def test_without_bubblewrap_it_says_what_would_bring_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    wrapping, why = bubblewrap.find()
    assert wrapping is None
    assert "apt-get install bubblewrap" in why
    assert all("apt-get install bubblewrap" in tier.better for tier in available())


def test_without_anything_only_limits_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    (only,) = available()
    assert isinstance(only, Tier) and only.name == "rlimits"
    assert "Landlock" in only.warning() and "bubblewrap" in only.warning()
