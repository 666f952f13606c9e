"""The command line: thin typer commands over wiring; no logic. Only this room prints."""

from __future__ import annotations


def main() -> None:
    """Run the command line and exit with its status."""
    from kernelwright.cli.app import run

    run()
