"""What pages say of the command line exists: commands, options, configuration keys, links; and help is complete."""

import re
import shlex
from pathlib import Path

import click
import pytest
import typer.main

from kernelwright.cli.app import app
from kernelwright.config import known_keys

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").glob("*.md"))
OTHER_PAGES = sorted(p for top in ("platform", "tests", "knowledge") for p in (ROOT / top).rglob("README.md"))
NOT_OURS = {"test"}
"""What `./kw` does itself."""
TREE = typer.main.get_command(app)


def commands(group: click.Command, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    """All commands by their words, hidden ones too."""
    children = getattr(group, "commands", None)
    if children is None:
        return {path: group}
    return {k: v for name, child in children.items() for k, v in commands(child, (*path, name)).items()}


COMMANDS = commands(TREE)
GROUPS = {path[:1] for path in COMMANDS if len(path) > 1}


def command_lines(text: str) -> list[str]:
    """Lines of fenced blocks and spans of code that begin with our command."""
    joined = text.replace("\\\n", " ")
    blocks = re.findall(r"^```\w*\n(.*?)^```", joined, re.M | re.S)
    found = [line.strip() for block in blocks for line in block.split("\n")]
    found += re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    return [line for line in found if re.match(r"(\./kw|kernelwright) \S", line)]


def complaints(line: str) -> list[str]:
    """What of a documented command line does not exist, or is missing; without any argument it is only a name."""
    words = shlex.split(line, comments=True)[1:]
    if words[0] in NOT_OURS or words[0].startswith("-"):
        return []
    path = tuple(words[:2]) if tuple(words[:1]) in GROUPS else tuple(words[:1])
    if path not in COMMANDS:
        return [] if path in GROUPS or path[1:] == ("--help",) else [f"no command {' '.join(path)!r}"]
    known = {name for p in COMMANDS[path].params for name in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
    given = [word.partition("=")[0] for word in words[len(path):] if re.match(r"--?[a-z]", word)]
    wrong = [f"{' '.join(path)} has no {word}" for word in given if word not in known]
    keys = [after.partition("=")[0] for word, after in zip(words, words[1:], strict=False) if word == "-o"]
    options = set(known_keys())
    wrong += [f"no option {key}" for key in keys if key not in options]
    needed = [p.opts for p in COMMANDS[path].params if p.param_type_name == "option" and p.required]
    missing = [opts[0] for opts in needed if not set(opts) & set(given)] if words[len(path):] else []
    return wrong + [f"{' '.join(path)} needs {option}" for option in missing]


@pytest.mark.parametrize("page", PAGES + OTHER_PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_commands_and_links_of_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrong = [f"{line}: {what}" for line in command_lines(text) for what in complaints(line)]
    targets = [t for t in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in t]
    wrong += [f"dead link: {target}" for target in targets if not (page.parent / target).exists()]
    assert not wrong, "\n".join(wrong)


def test_pages_hold_commands_and_wrong_ones_are_seen() -> None:
    assert sum(len(command_lines(page.read_text(encoding="utf-8"))) for page in PAGES) > 20
    assert complaints("./kw optimise x") == ["no command 'optimise'"]
    assert complaints("kernelwright runs show last --costs  # what it cost") == ["runs show has no --costs"]
    assert complaints("./kw search code") == []
    assert complaints("./kw search code best/") == ["search code needs --out"]
    assert complaints("./kw optimize x -o serch.width=2 --target 2x") == ["no option serch.width"]


def test_every_command_and_option_says_what_it_is() -> None:
    silent = [" ".join(path) for path, command in COMMANDS.items() if not command.help]
    asked = [(path, p) for path, command in COMMANDS.items() for p in command.params]
    silent += [f"{' '.join(path)} {p.name}" for path, p in asked if not getattr(p, "help", "")]
    assert not silent, f"no help: {', '.join(silent)}"


def test_every_command_answers_in_json() -> None:
    without = [
        " ".join(path)
        for path, command in COMMANDS.items()
        if not command.hidden and not any("--json" in p.opts for p in command.params)
    ]
    assert not without, f"no --json: {', '.join(without)}"
