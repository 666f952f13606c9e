"""Configuration: defaults are complete, overrides apply, unknown keys name the nearest known one."""

import ast
from pathlib import Path

import pytest

from kernelwright.config import RunConfig, default_values, known_keys, load_config, parse_target, stored_config
from kernelwright.errors import ConfigError, UnknownName

PLATFORM = Path(__file__).resolve().parents[1] / "platform"


def test_defaults_are_complete_and_valid():
    config = load_config()
    assert config.threads == 1
    assert set(default_values()) == set(RunConfig.model_fields)


def test_overrides_and_overlays_apply_in_order(tmp_path):
    overlay = tmp_path / "short.yaml"
    overlay.write_text("budget: {seconds: 10}\nsearch: {patience: 5}\n")
    config = load_config(files=[overlay], overrides=["search.patience=7"], values={"budget.rounds": 2})
    assert (config.budget.seconds, config.search.patience, config.budget.rounds) == (10, 7, 2)
    assert config.budget.measurements == default_values()["budget"]["measurements"]


@pytest.mark.parametrize(
    ("override", "near"),
    [("serch.patience=3", "search.patience"), ("budget.second=3", "budget.seconds"), ("thread=2", "threads")],
)
def test_an_unknown_key_names_the_nearest(override, near):
    with pytest.raises(ConfigError, match=f"did you mean '{near}'") as caught:
        load_config(overrides=[override])
    assert caught.value.exit_code == 2


def test_an_unknown_key_in_a_file_names_the_file(tmp_path):
    overlay = tmp_path / "bad.yaml"
    overlay.write_text("judge: {timeout: 3}\n")
    with pytest.raises(ConfigError, match=r"judge\.timeout.*bad\.yaml"):
        load_config(files=[overlay])


@pytest.mark.parametrize(
    "override",
    ["budget.seconds=0", "budget.measurements=0", "budget.rounds=-1", "threads=0", "threads=many", "target=fast"],
)
def test_impossible_values_are_refused(override):
    with pytest.raises(ConfigError, match=override.partition("=")[0]):
        load_config(overrides=[override])


def test_an_unknown_language_lists_the_known_ones():
    with pytest.raises(UnknownName, match="known: .*halide"):
        load_config(values={"languages": ["fortran"]})


@pytest.mark.parametrize(
    ("text", "latency_us", "speedup"),
    [("0.3ms", 300.0, None), ("250us", 250.0, None), ("2x", None, 2.0), ("", None, None), ("1.5e-3s", 1500.0, None)],
)
def test_targets(text, latency_us, speedup):
    target = parse_target(text)
    assert target.latency_us == pytest.approx(latency_us) if latency_us else target.latency_us is None
    assert target.speedup == speedup


@pytest.mark.parametrize("text", ["fast", "0x", "-1ms", "3", "1..2ms"])
def test_unreadable_targets(text):
    with pytest.raises(ValueError, match="target"):
        parse_target(text)


def test_every_option_is_read_somewhere():
    """No dead knobs: each leaf of the configuration is an attribute that code outside config.py reads."""
    read = set()
    for file in PLATFORM.rglob("*.py"):
        if file.name != "config.py":
            read |= {n.attr for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Attribute)}
    dead = [key for key in known_keys() if key.rpartition(".")[2] not in read]
    assert dead == []


def test_a_run_of_an_older_version_is_read_with_the_defaults_of_newer_options():
    old = default_values()
    del old["models"], old["budget"]["tokens"]
    old["budget"]["rounds"] = 3
    config = stored_config(old)
    assert (config.budget.rounds, config.budget.tokens, config.models.model) == (3, 0, "")
    with pytest.raises(ConfigError, match="unknown configuration key"):
        stored_config({**old, "gone": 1})
