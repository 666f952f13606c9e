"""Reading pages of knowledge: what a page becomes, and what is said of a broken one."""

from pathlib import Path

import pytest

from kernelwright.errors import LibraryError, UnknownName
from kernelwright.memory.knowledge_pages import (
    load_all_hardware,
    load_hardware,
    load_technique,
    load_techniques,
    shipped_pages,
    technique_named,
)
from kernelwright.records import DeviceKind, LanguageName

PAGE = """\
---
format: kernelwright/technique/1
id: row-wise
title: Row-wise
aliases: [by-rows]
applies_to:
  families: [softmax]
  languages: [cpp]
  devices: [cpu]
bottlenecks: [memory, latency]
sources:
  - title: A paper
    url: https://example.org/paper
---
# Row-wise

## What it does
Goes along rows.

## When
Rows are contiguous.

## Before and after
One loop instead of two.

Before:

```cpp
// ## Risks
int f() { return 1; }
```

After:

```cpp
int f() { return 2; }
```

## Risks
- None worth a line.

## How it shows in a profile
`memory` before.

## Source
From [A paper](https://example.org/paper).
"""
DEVICE = """\
---
format: kernelwright/hardware/1
id: example
title: An example
kind: cpu
vendor: Example
architecture: ExampleSIMD
targets: [-march=native]
sources:
  - {id: manual, title: The manual, url: https://example.org/manual}
figures:
  fma_units: {value: 2, source: manual}
  fp32_lanes: {value: 8, source: manual}
  fp32_flop_per_cycle_per_core: {value: 32, source: manual}
  vector_registers: {value: 16, source: manual}
  cache_line_bytes: {value: 64, source: manual}
variants:
  - name: Half
    figures:
      fma_units: {value: 1, source: manual}
      fp32_flop_per_cycle_per_core: {value: 16, source: manual}
---
# An example

## What limits kernels here
Everything.

## What to use
Vectors.

## Traps
Many.
"""


def write(folder: Path, text: str, *, name: str, edit: dict[str, str] | None = None) -> Path:
    for old, new in (edit or {}).items():
        assert text.count(old) == 1, f"{old!r} is not there exactly once"
        text = text.replace(old, new)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_page_of_techniques(tmp_path: Path) -> None:
    page = load_technique(write(tmp_path, PAGE, name="row-wise.md"))

    assert (page.id, page.title, page.names) == ("row-wise", "Row-wise", ("row-wise", "by-rows"))
    assert page.applies_to.languages == (LanguageName.CPP,)
    assert page.applies_to.devices == (DeviceKind.CPU,)
    assert page.bottlenecks == ("memory", "latency")
    assert page.change == "One loop instead of two."
    assert page.before.text == "// ## Risks\nint f() { return 1; }\n"  # no heading: it stands in a fenced block
    assert page.after.text == "int f() { return 2; }\n"
    assert page.risks == "- None worth a line."
    assert page.sources[0].title == "A paper"


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ({"format: kernelwright/technique/1\n": ""}, "field format: is missing"),
        ({"technique/1": "technique/2"}, "newer"),
        ({"technique/1": "solution/1"}, "expected format kernelwright/technique/1"),
        ({"id: row-wise": "id: rows"}, "field id: 'rows' differs from the file's name 'row-wise'"),
        ({"title: Row-wise": "title: Other"}, "field title: 'Other' differs from the heading 'Row-wise'"),
        ({"bottlenecks: [memory, latency]": "bottlenecks: [boredom]"}, "field bottlenecks.0"),
        ({"bottlenecks: [memory, latency]\n": ""}, "field bottlenecks: is missing"),
        ({"languages: [cpp]": "languages: [cobol]"}, "field applies_to.languages.0"),
        ({"aliases: [by-rows]": "alises: [by-rows]"}, "field alises: unknown key, did you mean 'aliases'?"),
        ({"aliases: [by-rows]": "risks: none"}, "field risks: belongs under a heading"),
        ({"    url: https://example.org/paper\n": "    url: paper\n"}, "field sources.0.url"),
        ({"](https://example.org/paper)": "](https://example.org/other)"}, "section Source: does not link"),
        ({"## When\n": "## Wen\n"}, "section 'When' is missing"),
        ({"## Risks\n- None": "## Notes\nx\n\n## Risks\n- None"}, "section 'Notes' is unknown"),
        ({"## Risks\n- None": "## When\nx\n\n## Risks\n- None"}, "section 'When' stands twice"),
        ({"- None worth a line.": ""}, "section 'Risks' is empty"),
        ({"int f() { return 2; }\n```\n": "int f() { return 2; }\n"}, "not closed"),
        ({"After:\n\n```cpp\nint f() { return 2; }\n```\n": ""}, "expected two fenced blocks, found 1"),
        ({"```cpp\nint f() { return 2; }": "```rust\nfn f() {}"}, "block marked 'rust'"),
        ({"# Row-wise\n": "# Row-wise\n\nHello.\n"}, "text before the first section: 'Hello.'"),
        ({"---\n# Row-wise": "# Row-wise"}, "expected front matter"),
        ({"title: Row-wise": "title: Row-wise\ntitle: Row-wise"}, "row-wise.md:5"),
    ],
)
def test_what_is_said_of_a_broken_page(edit: dict[str, str], told: str, tmp_path: Path) -> None:
    file = write(tmp_path, PAGE, name="row-wise.md", edit=edit)

    with pytest.raises(LibraryError) as caught:
        load_technique(file)

    assert str(file) in str(caught.value)
    assert told in str(caught.value)


def test_sections_in_another_order(tmp_path: Path) -> None:
    when = "## When\nRows are contiguous.\n\n"
    file = write(tmp_path, PAGE, name="row-wise.md", edit={when: "", "## Risks\n- None": f"{when}## Risks\n- None"})

    with pytest.raises(LibraryError, match="another order"):
        load_technique(file)


def test_a_broken_page_leaves_the_others(tmp_path: Path) -> None:
    write(tmp_path, PAGE, name="row-wise.md")
    write(tmp_path, PAGE, name="torn.md", edit={"id: row-wise": "id: torn", "bottlenecks: [memory, latency]\n": ""})
    write(tmp_path, "read me\n", name="README.md")

    pages, problems = load_techniques(tmp_path)

    assert [p.id for p in pages] == ["row-wise"]
    assert [p.file.name for p in problems] == ["torn.md"]


def test_two_pages_that_claim_one_name(tmp_path: Path) -> None:
    write(tmp_path, PAGE, name="row-wise.md")
    write(tmp_path, PAGE, name="second.md", edit={"id: row-wise": "id: second"})

    pages, problems = load_techniques(tmp_path)

    assert len(pages) == 2
    assert [p.message for p in problems] == ["second.md: 'by-rows' is also explained by row-wise.md"]


def test_a_page_is_found_by_every_name_it_has(tmp_path: Path) -> None:
    page = load_technique(write(tmp_path, PAGE, name="row-wise.md"))

    assert technique_named("by-rows", [page]) is page
    with pytest.raises(UnknownName, match="did you mean 'row-wise'"):
        technique_named("row-wize", [page])


def test_a_page_of_hardware(tmp_path: Path) -> None:
    page = load_hardware(write(tmp_path, DEVICE, name="example.md"))

    assert page.value("fp32_flop_per_cycle_per_core") == 32
    assert page.value("fp32_flop_per_cycle_per_core", variant="Half") == 16
    assert page.value("fp32_lanes", variant="Half") == 8  # what a variant does not say is the page's
    assert page.value("bandwidth_gbps") is None
    assert page.figures["fma_units"].source == "manual"
    assert (page.limits, page.use, page.traps) == ("Everything.", "Vectors.", "Many.")


REGISTERS = "vector_registers: {value: 16, source: manual}"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (f"  {REGISTERS}\n", "", "figures: vector_registers missing"),
        ("cache_line_bytes: {value: 64, source: manual}", "cache_line_bytes: 64", "field figures.cache_line_bytes"),
        (REGISTERS, "vector_registers: {value: 0, source: manual}", "greater than"),
        (REGISTERS, "vector_registers: {value: 16, source: rumour}", "source 'rumour' is not among"),
        (REGISTERS, REGISTERS + "\n  speed: {value: 3, source: manual}", "speed: the name ends in no known unit"),
        ("core: {value: 32", "core: {value: 64", "figures: 2 FMA units x 8 lanes x 2 is not 64"),
        ("core: {value: 16", "core: {value: 18", "Half: 1 FMA units x 8 lanes x 2 is not 18"),
        ("sources:\n", "sources:\n  - {id: b, title: Another, url: https://example.org/b}\n", "no figure comes from b"),
        ("{id: manual, title", "{title", "every source needs an id"),
        ("kind: cpu", "kind: toaster", "field kind"),
        ("## Traps\nMany.\n", "", "section 'Traps' is missing"),
    ],
)
def test_what_is_said_of_a_broken_page_of_hardware(old: str, new: str, told: str, tmp_path: Path) -> None:
    file = write(tmp_path, DEVICE, name="example.md", edit={old: new})

    with pytest.raises(LibraryError) as caught:
        load_hardware(file)

    assert str(file) in str(caught.value)
    assert told in str(caught.value)


def test_the_shipped_pages_are_found() -> None:
    folder = shipped_pages("techniques")
    assert folder is not None and (folder / "README.md").is_file()
    pages, problems = load_all_hardware()
    assert pages and not problems


def test_a_folder_that_does_not_exist_has_no_pages(tmp_path: Path) -> None:
    assert load_techniques(tmp_path / "none") == ([], [])
