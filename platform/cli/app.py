"""The typer application: which commands there are, and how errors become exit codes.

0 fine, 1 no improvement or a check failed, 2 a user's mistake, 3 the machine lacks something. A user's mistake never
shows a traceback.
"""

from __future__ import annotations

import logging
import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from kernelwright.cli import (
    doctor,
    evaluate,
    lessons,
    library,
    measure,
    optimize,
    prompt_trials,
    retune,
    runs,
    search,
    suite,
    tasks,
)
from kernelwright.cli.output import note, print_json
from kernelwright.errors import KernelwrightError

app = typer.Typer(
    name="kernelwright",
    help="Make a compute kernel faster, prove it correct, and keep the reasoning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(optimize.demo)
app.command()(doctor.doctor)
app.command("optimize")(optimize.optimize)
app.command()(optimize.resume)
app.command("evaluate")(evaluate.evaluate)
app.command()(measure.measure)
app.command()(retune.retune)
app.add_typer(runs.app, name="runs")
app.add_typer(suite.app, name="suite")
app.add_typer(tasks.app, name="tasks")
app.add_typer(library.app, name="library")
app.add_typer(search.app, name="search")
app.add_typer(lessons.app, name="lessons")
app.add_typer(prompt_trials.prompts.app, name="prompts")


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"kernelwright {version('kernelwright')}\n")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what the libraries do to stderr.")] = False,
) -> None:
    """Make a compute kernel faster, prove it correct, and keep the reasoning."""
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )


def run() -> None:
    """Run the command line and exit with its status."""
    try:
        app()
    except KernelwrightError as error:
        if "--json" in sys.argv:
            body = {"code": error.code, "message": error.message, "hint": error.hint}
            print_json({"format": "kernelwright/error/1", **body})
        note(f"error: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        note("interrupted")
        sys.exit(130)
