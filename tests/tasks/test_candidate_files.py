"""What a folder says of its candidate beyond its files."""

import pytest

from kernelwright.errors import CandidateError
from kernelwright.records import Candidate, Entry, LanguageName, SourceFile, Tunable
from kernelwright.tasks.candidate_files import RECORD, load_candidate

TUNED = Candidate(
    language=LanguageName.HALIDE,
    entry=Entry.PIPELINE,
    files=tuple(SourceFile(path=n, text="{}") for n in ("algorithm.json", "imported.json", "schedule.json")),
    entry_file="schedule.json",
    tunables=(Tunable(name="LANES", values=(8, 16), value=16),),
)


@pytest.fixture
def best(tmp_path):
    """A run's best/ folder."""
    (tmp_path / "sources").mkdir()
    for file in TUNED.files:
        (tmp_path / "sources" / file.path).write_text(file.text)
    TUNED.save(tmp_path / RECORD)
    return tmp_path


def test_the_best_of_a_run_is_read_with_its_tuned_values(best):
    assert load_candidate(best).id == TUNED.id
    assert load_candidate(best / "sources").id == TUNED.id


def test_an_edited_source_is_another_candidate_with_the_same_values(best):
    (best / "sources" / "schedule.json").write_text('{"directives": []}')
    edited = load_candidate(best / "sources")
    assert edited.id != TUNED.id
    assert edited.text("schedule.json") == '{"directives": []}'
    assert edited.tunable_values() == {"LANES": 16}


def test_without_its_entry_it_is_refused(best):
    (best / "sources" / "schedule.json").unlink()
    with pytest.raises(CandidateError, match=r"holds no schedule\.json"):
        load_candidate(best / "sources")


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    outside, folder = tmp_path / "secret.h", tmp_path / "kernel"
    (folder / "parts").mkdir(parents=True)
    outside.write_text("// not a source of this candidate\n")
    (folder / "kernel.cpp").write_text('extern "C" int kw_run();\n')
    (folder / "parts" / "tile.h").write_text("// a tile\n")
    (folder / "tile.h").symlink_to("parts/tile.h")
    assert {f.path for f in load_candidate(folder).files} == {"kernel.cpp", "tile.h"}
    (folder / "secret.h").symlink_to(outside)
    with pytest.raises(CandidateError, match=r"secret\.h is a link out of its folder"):
        load_candidate(folder)
