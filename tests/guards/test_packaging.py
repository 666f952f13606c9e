"""The folder named platform/ and the import name kernelwright live together, in every kind of install."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = [sys.executable]


def call(*command: str, cwd: Path = ROOT, **variables: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def build(target: str, source: Path, into: Path) -> Path:
    call(*PYTHON, "-m", "hatchling", "build", "-t", target, "-d", str(into), cwd=source)
    (made,) = into.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_pytest_starts_from_the_root() -> None:
    assert "pytest" in call(*PYTHON, "-m", "pytest", "--version")


def test_torch_and_the_standard_platform_import_from_the_root() -> None:
    assert call(*PYTHON, "-c", "import platform, torch; print(platform.system())").strip() == "Linux"


@pytest.mark.parametrize("folder", [".", "platform", "platform/records", "tests"])
def test_the_package_imports_from_everywhere(folder: str) -> None:
    code = "import kernelwright.records, platform; print(kernelwright.__version__, platform.system())"
    assert call(*PYTHON, "-c", code, cwd=ROOT / folder).split()[-1] == "Linux"


def test_data_is_found_through_the_package() -> None:
    code = (
        "from importlib.resources import files; top = files('kernelwright'); "
        "assert (top / 'configs' / 'default.yaml').read_text(); "
        "assert [p for p in (top / 'knowledge').iterdir() if p.is_dir()]"
    )
    call(*PYTHON, "-c", code, cwd=Path("/"))


def test_a_new_module_imports_without_a_reinstall() -> None:
    """What .editable/ does not link yet is found through the package's search path."""
    code = "import kernelwright; print('\\n'.join(kernelwright.__path__))"
    shown = call(*PYTHON, "-c", code, cwd=Path("/")).split("\n")
    assert str(ROOT / "platform") in shown


def test_the_wheel_is_whole(wheel: Path) -> None:
    inside = names(wheel)
    missing = {
        f"kernelwright/{path.relative_to(top).as_posix()}"
        for top, patterns in (
            (ROOT / "platform", ["*.py", "*.md"]),
            (ROOT, ["configs/*.yaml", "knowledge/*/*/*"]),
        )
        for pattern in patterns
        for path in (top.rglob(pattern) if top != ROOT else top.glob(pattern))
        if path.is_file() and "__pycache__" not in path.parts
    } - inside
    assert not missing, f"not in the wheel: {sorted(missing)}"
    assert "kernelwright/__init__.py" in inside
    assert any(name.startswith("kernelwright/knowledge/") for name in inside)
    assert any(name.startswith("kernelwright/configs/") for name in inside)
    assert any(name.endswith("entry_points.txt") for name in inside)
    assert any(name.endswith("licenses/LICENSE") for name in inside)


def test_the_wheel_carries_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"kernelwright"}
    strange = [
        name
        for name in names(wheel)
        if "/tests/" in name or "__pycache__" in name or ".kernelwright" in name or name.endswith(".pyc")
    ]
    assert not strange


def test_a_wheel_made_from_the_sdist_is_the_same(wheel: Path, tmp_path: Path) -> None:
    sdist = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert names(build("wheel", source, tmp_path / "again")) == names(wheel)


def test_the_wheel_alone_is_enough(wheel: Path, tmp_path: Path) -> None:
    """Unpacked on an import path of its own, it finds its data, without .editable/."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        "import kernelwright, sys; from importlib.resources import files; "
        "assert kernelwright.__file__.startswith(sys.argv[1]), kernelwright.__file__; "
        "assert all(p.startswith(sys.argv[1]) for p in kernelwright.__path__), kernelwright.__path__; "
        "assert (files('kernelwright') / 'configs' / 'default.yaml').is_file(); "
        "assert (files('kernelwright') / 'knowledge').is_dir(); "
        "import kernelwright.records"
    )
    site = str(tmp_path / "site")
    call(*PYTHON, "-c", code, site, cwd=tmp_path, PYTHONPATH=site)
