"""Whole pages: what they say, that strangers' text is inert, that they need nothing else."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fakes.runs import HOSTILE_MESSAGE, a_blur_run, a_run_where_nothing_fitted, a_stopped_run

from kernelwright.report.run_records import RunRecords
from kernelwright.report.run_report import render_html, render_markdown, write_pages


class Page(HTMLParser):
    """Collects tags, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("meta", "br", "link", "img", "input", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.text += data


RUNS = {"blur": a_blur_run, "nothing": a_run_where_nothing_fitted, "stopped": a_stopped_run}


@pytest.fixture(scope="module")
def blur() -> str:
    return render_html(a_blur_run())


def test_the_page_says_all_that_was_asked_of_it(blur: str) -> None:
    text = " ".join(Page(blur).text.split())
    for piece in (
        "1.31x speed-up over the best baseline, torch.compile; 95 % interval 1.29 to 1.33.",
        "not measured: no C++ compiler", "weighted geometric mean", "SIZE=8192", "0.162 ms", "1.34x [1.33, 1.35]",
        "Predicted 6.00x, measured 9.77x", "Vectorizing was worth more", "out: vectorize xi, 16", "VECTOR = 16",
        "AMD EPYC 9R14", "1 thread, pinned to core 3", "torch 2.13.0+cpu", "bubblewrap", "0.42 in the minute before",
        "kernelwright optimize box_blur_3x3 --seed 7", "kernelwright evaluate box_blur_3x3 runs/x/candidates/",
        "building candidates", "95th percentile", "judge.threads: 1",
    ):  # fmt: skip
        assert piece in text, piece


def test_strangers_text_stays_text_in_html(blur: str) -> None:
    page = Page(blur)
    assert "script" not in page.tags and "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in page.text and "alert('log')" in page.text
    assert "\x1b" not in blur


def test_the_page_asks_nothing_of_the_network_and_forbids_scripts(blur: str) -> None:
    page = Page(blur)
    assert not {"link", "script", "img", "iframe", "object", "image", "use"} & set(page.tags) - {"use"}
    targets = [value for name, value in page.attributes if name in ("src", "href", "xlink:href", "action", "data")]
    assert all(target.startswith("#") for target in targets)
    assert "url(http" not in blur and "@import" not in blur
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes


@pytest.mark.parametrize("name", RUNS)
def test_pages_are_well_formed_accessible_and_have_no_gaps(name: str) -> None:
    html = render_html(RUNS[name]())
    page = Page(html)
    assert page.open == []
    assert html.startswith("<!doctype html>") and '<html lang="en">' in html
    labels = [value for key, value in page.attributes if key == "aria-labelledby"]
    ids = [value for key, value in page.attributes if key == "id"]
    assert labels and all(part in ids for label in labels for part in label.split())
    assert len(ids) == len(set(ids))
    for gap in ("None", "Undefined", "{{", "{%", "nan"):
        assert gap not in page.text


def test_light_dark_and_print_are_styled(blur: str) -> None:
    assert "prefers-color-scheme: dark" in blur and "@media print" in blur and "color-scheme: light dark" in blur


def test_markdown_is_inert_outside_code() -> None:
    text = render_markdown(a_blur_run())
    prose = re.sub(r"^(`{3,})[a-z]*\n.*?^\1$", "", text, flags=re.S | re.M)
    assert "<script" not in prose and "<img" not in prose
    assert not re.search(r"(?<!\\)\]\((?!best-so-far\.svg|roofline\.svg)", prose)
    assert "javascript:" in prose  # shown, not linked
    assert re.findall(r"<(\w+)", prose.replace("<br>", "")) == []


def test_tables_of_markdown_keep_their_columns() -> None:
    records = a_blur_run()
    text = render_markdown(records)
    candidates = text.partition("## Candidates")[2].partition("\n\nSpeed-up")[0].strip().split("\n")
    assert len(candidates) == 2 + len(records.steps)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in candidates} == {7}
    baselines = text.partition("## Baselines")[2].partition("\n\nMedian")[0].strip().split("\n")
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in baselines} == {5}
    assert HOSTILE_MESSAGE not in text


def test_a_log_cannot_end_its_fence() -> None:
    text = render_markdown(a_blur_run())
    assert "````text\n" in text
    assert "\n# Ignore the rules" in text.partition("````text\n")[2].partition("\n````\n")[0]


def test_empty_states_are_sentences() -> None:
    for render in (render_html, render_markdown):
        text = render(a_run_where_nothing_fitted())
        for piece in ("No candidate was made in this run.", "nothing to plot", "No roofline", "No decision was taken."):
            assert piece in text, piece
        assert "other work ran on this machine" in text


def test_a_bare_run_still_gives_a_page() -> None:
    """A run that was killed before anything was known."""
    records = a_run_where_nothing_fitted()
    summary = records.summary.model_copy(update={"state": "running", "reason": "", "nearest": ()})
    bare = RunRecords(summary=summary, task=records.task, trajectory=records.trajectory)
    assert "The machine is not on record." in render_html(bare)
    assert "No baseline is on record." in render_markdown(bare)


def test_files_are_written_whole_with_their_pictures(tmp_path: Path) -> None:
    written = write_pages(a_blur_run(), tmp_path / "deep" / "run")
    assert [path.name for path in written] == ["report.html", "report.md", "best-so-far.svg", "roofline.svg"]
    assert sorted(path.name for path in written[0].parent.iterdir()) == sorted(path.name for path in written)
    named = re.findall(r"\]\(([\w-]+\.svg)\)", written[1].read_text(encoding="utf-8"))
    assert named == ["best-so-far.svg", "roofline.svg"]
    assert written[0].stat().st_mode & 0o444 == 0o444
