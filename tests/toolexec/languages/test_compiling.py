"""Finding compilers, and what they need to read when they lie outside the system's folders."""

from pathlib import Path

import pytest

from kernelwright.toolexec.languages.compiling import toolchain_places


def make(prefix: Path, *folders: str) -> Path:
    for folder in folders:
        (prefix / folder).mkdir(parents=True)
    compiler = prefix / "bin" / "g++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    return compiler


def test_a_compiler_of_its_own_prefix_can_be_read_and_nothing_else_of_it(tmp_path: Path) -> None:
    compiler = make(tmp_path, "bin", "lib/gcc", "include", "private", "x86_64-conda-linux-gnu/sysroot", "a-b-c")
    found = {p.relative_to(tmp_path).as_posix() for p in toolchain_places(str(compiler), "")}
    assert found == {"bin", "lib", "include", "x86_64-conda-linux-gnu"}


def test_a_link_leads_to_the_real_ones_prefix(tmp_path: Path) -> None:
    compiler = make(tmp_path / "real", "bin", "lib")
    (tmp_path / "shims" / "bin").mkdir(parents=True)
    link = tmp_path / "shims" / "bin" / "g++"
    link.symlink_to(compiler)
    assert set(toolchain_places(str(link), "")) == {
        tmp_path / "real" / "bin", tmp_path / "real" / "lib", tmp_path / "shims" / "bin",
    }  # fmt: skip


@pytest.mark.parametrize("library_path", ["", ":", "relative:lib", "/", "/no/such/folder"])
def test_a_system_compiler_needs_nothing_more(library_path: str) -> None:
    assert toolchain_places("/usr/bin/g++", library_path) == ()


def test_the_loaders_folders_can_be_read(tmp_path: Path) -> None:
    assert toolchain_places("/usr/bin/g++", f"/no/such:{tmp_path}") == (tmp_path,)
