"""report.md and report.html of a run, from its records.

Owns rendering and escaping. Both pages are safe by default: HTML through autoescape and a policy that forbids scripts
and requests, Markdown through a finalizer that escapes every value that is not marked as Markdown. It measures nothing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.report.inert import Markdown, markdown_block, markdown_code, markdown_text, plain
from kernelwright.report.loading import load_run_records
from kernelwright.report.page import page_content
from kernelwright.report.plots import Plot
from kernelwright.report.rows import RatioCell
from kernelwright.report.run_records import RunRecords
from kernelwright.workspace import RunFolder, disk_errors

_TEMPLATES = Path(__file__).parent / "templates"


def write_report(folder: RunFolder) -> None:
    """Write a run's report.html, report.md and plots into its folder, from the files that lie there.

    Raises:
        WorkspaceError: the run's files cannot be read, or the folder cannot be written.
    """
    with disk_errors(folder.root):
        write_pages(load_run_records(folder), folder.root)


def write_pages(records: RunRecords, folder: Path) -> list[Path]:
    """Write report.md, report.html and the plots that report.md shows.

    Args:
        records: the run.
        folder: where to; made when missing. Each file appears whole or not at all.

    Returns:
        The files written, report.html first.

    Raises:
        OSError: the folder cannot be written.
    """
    content = page_content(records)
    texts = {"report.html": _html(content), "report.md": _markdown(content)}
    pictures: dict[str, Plot | None] = {"best-so-far.svg": content["progress"], "roofline.svg": content["roofline"]}
    texts.update({name: plot.standalone for name, plot in pictures.items() if plot is not None})
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        _write(folder / name, text)
    return [folder / name for name in texts]


def render_html(records: RunRecords) -> str:
    """The page as one self-contained HTML file."""
    return _html(page_content(records))


def render_markdown(records: RunRecords) -> str:
    """The page as Markdown; it names best-so-far.svg and roofline.svg beside it."""
    return _markdown(page_content(records))


def _html(content: dict[str, Any]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else plain(str(value)),
    )
    style = (_TEMPLATES / "report.css").read_text(encoding="utf-8")
    return environment.get_template("report.html.j2").render(**content, css=Markup(style.strip()))


def _markdown(content: dict[str, Any]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=False,  # not HTML: every value goes through the finalizer instead
        undefined=StrictUndefined,
        finalize=markdown_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(code=markdown_code, block=markdown_block, lines=_md_lines, ratios=_md_ratios)
    text = environment.get_template("report.md.j2").render(**content)
    return text.rstrip() + "\n"


def _md_lines(texts: Sequence[str]) -> Markdown:
    return Markdown("<br>".join(markdown_text(text) for text in texts))


def _md_ratios(cells: Sequence[RatioCell]) -> Markdown:
    return _md_lines([f"{cell.text} over {cell.over}" for cell in cells])


def _write(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
