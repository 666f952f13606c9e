"""How large is the page of a suite of 250 tasks and 5 samples, and how long does a browser take to open it?

Run, with kernelwright installed and a Chromium at hand (CHROMIUM names it, else one on PATH):
    python tests/benchmarks/report_opening.py [--tasks 250] [--samples 5] [--arms 1] [--repeat 5]
Rows are made up, with failures, notes and long names as real ones have. Opening is timed in two ways: by the page's own
clock, from the start of the navigation until it is parsed and laid out (`load`, then a forced layout); and by the wall
time of a headless browser that takes a picture of it, less that of an empty page, which also has the painting in it.
Takes about a minute on a quiet machine. Exit 1 above 2 s or 5 MB, 3 without a browser.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from os import environ
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from suite.rows import a_plan, a_row  # noqa: E402

from kernelwright.report.suite_page import write_suite_report  # noqa: E402
from kernelwright.suite.folder import SuiteFolder  # noqa: E402

MOST_S, MOST_BYTES = 2.0, 5_000_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,2000")
CLOCK = (
    "<script>addEventListener('load', () => { document.body.offsetHeight; document.title = performance.now() })"
    "</script>"
)


def made_up(root: Path, tasks: int, samples: int, arms: int) -> SuiteFolder:
    """A suite's folder with its report."""
    names = ["main", *(f"arm{n}" for n in range(1, arms))]
    keys = [f"level1-{i}_Some_Operator_With_A_Long_Name" for i in range(tasks)]
    folder = SuiteFolder(root)
    plan = a_plan(*keys, samples=samples, arms=tuple(names))
    plan.save(folder.plan_file)
    failed = {3: "crashed", 7: "timeout", 11: "refused"}
    with folder.rows_file.open("w") as lines:
        for i, key in enumerate(keys):
            for arm in names:
                for s in range(samples):
                    outcome = failed.get((i + s) % 13, "finished")
                    fields = {"sample": s, "arm": arm, "family": f"family{i % 17}", "reduced": i % 2 == 0}
                    speedup = 0.6 + (i % 17) / 5 + s / 10 if outcome == "finished" else None
                    detail = "" if outcome == "finished" else f"its process died (signal 11): {'words ' * 30}"
                    row = a_row(key, speedup, outcome=outcome, detail=detail, **fields)
                    lines.write(row.to_line() + "\n")
    write_suite_report(folder)
    return folder


def by_its_own_clock(browser: str, page: Path, profile: Path) -> float:
    """Seconds from navigation to layout."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    timed = page.with_name("timed.html")
    timed.write_text(text.replace("<head>", f"<head>{CLOCK}", 1), encoding="utf-8")
    command = [browser, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", timed.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300).stdout
    found = re.search(r"<title>([\d.]+)</title>", shown)
    if found is None:
        sys.exit(f"{browser} did not tell the time: {shown[:300]}")
    return float(found.group(1)) / 1e3


def by_a_picture(browser: str, page: Path, profile: Path) -> float:
    """Seconds until a headless browser has started, taken a picture of the page and ended."""
    picture = page.with_suffix(".png")
    command = [browser, *FLAGS, f"--user-data-dir={profile}", f"--screenshot={picture}", page.as_uri()]
    began = time.monotonic()
    subprocess.run(command, capture_output=True, timeout=300)
    if not picture.exists():
        sys.exit(f"{browser} took no picture")
    return time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("tasks", 250), ("samples", 5), ("arms", 1), ("repeat", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--keep", type=Path, help="where the page and its picture are kept")
    told = parser.parse_args()
    root = told.keep or Path(tempfile.mkdtemp(prefix="report-opening-"))
    root.mkdir(parents=True, exist_ok=True)
    page = made_up(root, told.tasks, told.samples, told.arms).report_html
    size = page.stat().st_size
    print(f"{told.tasks} tasks x {told.samples} samples x {told.arms} arms: page {size / 1e6:.2f} MB, "
          f"report.json {(root / 'report.json').stat().st_size / 1e6:.2f} MB")  # fmt: skip
    browser = environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("no Chromium is at hand: opening was not timed")
        return 3
    version = subprocess.run([browser, "--version"], capture_output=True, text=True).stdout.strip()
    blank, profile = root / "blank.html", root / "profile"
    blank.write_text("<!doctype html><title>empty</title>")
    own = [by_its_own_clock(browser, page, profile) for _ in range(told.repeat)]
    pairs = [by_a_picture(browser, page, profile) - by_a_picture(browser, blank, profile) for _ in range(told.repeat)]
    print(f"{version}: parsed and laid out after {median(own):.2f} s, at most {max(own):.2f}")
    print(f"a picture takes {median(pairs):.2f} s longer than one of an empty page, at most {max(pairs):.2f}")
    return int(max(median(own), median(pairs)) > MOST_S or size > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())
