"""Editable installs: shows the repository under its import name, through a folder of links (.editable/).

Owns .editable/ and nothing else. Ordinary wheels need none of it: their mapping is data, in pyproject.toml.
"""

import os
import shutil
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "kernelwright"


class LinkedEditable(BuildHookInterface):
    """Lays out the wheel's mapping as links, and a .pth file that puts them on the import path."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            return
        final = Path(self.root, ".editable")
        # Links are relative and the staging folder lies beside the final one, so it can be moved into place:
        # a Python that imports meanwhile sees the old folder or the new one.
        staging = Path(self.root, f".editable.{os.getpid()}")
        try:
            for source, target in self.build_config.get_force_include().items():
                self._show(Path(source), staging / target, package=staging / PACKAGE)
            (staging / f"{PACKAGE}.pth").write_text(f"{final}\n", encoding="utf-8")
            shutil.rmtree(final, ignore_errors=True)
            staging.rename(final)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        build_data["force_include_editable"] = {str(final / f"{PACKAGE}.pth"): f"_{PACKAGE}_editable.pth"}

    def _show(self, source: Path, target: Path, *, package: Path) -> None:
        if target != package:
            self._link(source, target)
            return
        # The package is a real folder, so that __init__.py and the data can be added to it.
        for child in sorted(source.iterdir()):
            if child.name not in ("__pycache__", "__about__.py"):
                self._link(child, target / child.name)

    @staticmethod
    def _link(source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        relative = os.path.relpath(source, target.parent)
        os.symlink(relative, target, target_is_directory=source.is_dir())
