"""What no committed file may mention: places that exist on one machine only."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Package registries are the user's to choose, in pip's own settings. One is named: torch's CPU builds.
TORCH_INDEX = "download.pytorch.org"
REGISTRY = re.compile(
    r"(?:[\w-]+\.)*(?:pypi\.org|pythonhosted\.org|anaconda\.(?:org|com)|npmjs\.(?:org|com)|crates\.io"
    r"|conda-forge\.org|deb\.debian\.org|archive\.ubuntu\.com|pypi\.nvidia\.com|ngc\.nvidia\.com)",
    re.IGNORECASE,
)
INDEX_OPTION = re.compile(r"(?:index-url|find-links|registry)[ =\"']+(\w+://[^\s\"']+|/[^\s\"']+)")
# A path from a file system's root, into folders that belong to one person or one machine.
LOCAL_PATH = re.compile(r"(?<![\w.~$}\])/])/(?:work|root|home/\w+|Users/\w+)/")


def committed_files() -> list[Path]:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout, so nothing is committed here")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def complaints(text: str) -> list[str]:
    found = [match.group() for match in REGISTRY.finditer(text)]
    found += [match.group(1) for match in INDEX_OPTION.finditer(text) if TORCH_INDEX not in match.group(1)]
    return found + [match.group() for match in LOCAL_PATH.finditer(text)]


def test_no_file_names_a_place_of_one_machine() -> None:
    wrong = []
    for path in committed_files():
        if path == Path(__file__).resolve():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture or the like
        for number, line in enumerate(text.splitlines(), start=1):
            wrong += [f"{path.relative_to(ROOT).as_posix()}:{number}: {found}" for found in complaints(line)]
    assert not wrong, "\n" + "\n".join(wrong)


def test_nothing_made_by_a_run_is_committed() -> None:
    made = (".kernelwright", "__pycache__", ".venv", ".editable", ".mypy_cache", ".pytest_cache")
    wrong = [str(path.relative_to(ROOT)) for path in committed_files() if set(path.parts) & set(made)]
    assert not wrong


@pytest.mark.parametrize(
    ("line", "clean"),
    [
        ("pip install --index-url https://download.pytorch.org/whl/cpu torch", True),
        ("--index-url https://example.com/simple", False),
        ("see https://pypi.org/project/halide", False),
        ("open /root/x.py", False),
        ("cd /home/jane/src/x", False),
        ('"/work/main/kw"', False),
        ("$root/.venv/ and a/root/b", True),
        ("bytes/work/item", True),
    ],
)
def test_the_guard_itself(line: str, clean: bool) -> None:
    assert (not complaints(line)) is clean
