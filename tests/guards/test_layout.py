"""The house rules that a look at the tree can check."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLATFORM = ROOT / "platform"
MAX_LINES = 400
EMPTY_NAMES = {"util", "utils", "helper", "helpers", "manager", "managers", "core", "common"}

# A longer file needs a reason: path from the root -> why one file is clearer than two.
LONG_FILES: dict[str, str] = {}


def walk(top: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yields each folder under top with its files, leaving out what tools leave behind."""
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        yield Path(folder), sorted(files)


def python_files(*tops: Path) -> list[Path]:
    return [
        folder / name for top in tops for folder, files in walk(top) for name in files if name.endswith(".py")
    ]


def test_platform_is_not_a_package() -> None:
    found = [p.name for p in PLATFORM.glob("__init__.*")]
    assert not found, (
        f"platform/{found[0]} shadows the standard library's platform; platform/__about__.py is what becomes "
        "kernelwright/__init__.py"
    )


def test_every_folder_with_code_says_what_is_in_it() -> None:
    silent = [
        folder.relative_to(ROOT).as_posix()
        for folder, files in walk(PLATFORM)
        if (files or folder == PLATFORM) and "README.md" not in files
    ]
    assert not silent, f"no README.md (one line a file) in: {', '.join(silent)}"


def test_each_readme_names_every_file_and_folder_beside_it() -> None:
    missing = []
    for folder, files in walk(PLATFORM):
        if "README.md" not in files:
            continue  # the test above says so
        text = (folder / "README.md").read_text(encoding="utf-8")
        names = [name for name in files if name not in ("README.md", "__init__.py")]
        names += [child.name for child in folder.iterdir() if (child / "README.md").exists()]
        missing += [(folder / name).relative_to(ROOT).as_posix() for name in names if name not in text]
    assert not missing, f"not named in the README.md of their folder: {', '.join(missing)}"


def test_files_are_short_or_give_a_reason() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files(PLATFORM, ROOT / "tests")
    }
    long = {path for path, lines in lengths.items() if lines > MAX_LINES}
    assert long == set(LONG_FILES), (
        f"over {MAX_LINES} lines, or no longer so: {sorted(long ^ set(LONG_FILES))}"
    )
    assert all(len(reason) > 20 for reason in LONG_FILES.values())


def names_in_the_tree() -> Iterator[Path]:
    for top in (PLATFORM, ROOT / "tests"):
        for folder, files in walk(top):
            yield folder
            yield from (folder / name for name in files)


def test_names_say_what_a_thing_is() -> None:
    vague = [
        path.relative_to(ROOT).as_posix()
        for path in names_in_the_tree()
        if EMPTY_NAMES & set(re.split(r"[_\-.]", path.stem.lower()))
    ]
    assert not vague, f"name these for what they hold: {', '.join(vague)}"


@pytest.mark.parametrize("name", ["profile", "types", "select", "queue", "platform", "logging"])
def test_no_top_level_module_of_ours_has_a_name_of_the_standard_library(name: str) -> None:
    """Inside platform/ a script's own folder comes first on the path: it would shadow the real one."""
    assert not (PLATFORM / f"{name}.py").exists()
    assert not (PLATFORM / name).exists()
