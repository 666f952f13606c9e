"""Workspace: durable appends, torn lines, formats, locks, clear refusals."""

import json
import multiprocessing
import os
from pathlib import Path

import pytest
from fakes.records import a_candidate, a_decision, an_event

from kernelwright.errors import UnknownName, WorkspaceError
from kernelwright.records import RunEvent
from kernelwright.workspace import RunFolder, Workspace, append_line, read_records, workspace_error


def test_the_folder_is_chosen_by_argument_then_environment(tmp_path, workspace_folder):
    assert Workspace.open().root == workspace_folder
    assert Workspace.open(tmp_path / "other").root == tmp_path / "other"


def test_a_newer_workspace_is_refused(tmp_path):
    (tmp_path / "workspace.json").write_text(json.dumps({"format": "kernelwright/workspace/99"}))
    with pytest.raises(WorkspaceError, match="newer kernelwright") as caught:
        Workspace.open(tmp_path)
    assert caught.value.exit_code == 2


def test_a_foreign_marker_is_refused(tmp_path):
    (tmp_path / "workspace.json").write_text("{}")
    with pytest.raises(WorkspaceError, match="not a workspace marker"):
        Workspace.open(tmp_path)


@pytest.mark.parametrize(
    ("code", "words"), [("ENOSPC", "disk is full"), ("EROFS", "--workspace"), ("EACCES", "cannot write")]
)
def test_file_system_refusals_say_what_to_do(code, words):
    import errno

    number = getattr(errno, code)
    assert words in str(workspace_error(OSError(number, os.strerror(number)), Path("place")))


def test_a_torn_last_line_is_skipped_and_the_next_append_is_whole(tmp_path):
    path = tmp_path / "events.jsonl"
    append_line(path, an_event("node", "one").to_line())
    with path.open("a") as stream:
        stream.write('{"format": "kernelwright/eve')
    append_line(path, an_event("node", "two").to_line())
    assert [e.message for e in read_records(path, RunEvent)] == ["one", "two"]


def test_a_line_of_a_newer_format_is_refused(tmp_path):
    path = tmp_path / "events.jsonl"
    append_line(path, an_event("node").to_line().replace("event/1", "event/9"))
    with pytest.raises(WorkspaceError, match="newer"):
        read_records(path, RunEvent)


def _append_many(path: Path, name: str) -> None:
    for number in range(60):
        append_line(path, an_event("node", f"{name}-{number}-" + "x" * 5000).to_line())


def test_many_processes_append_without_losing_a_line(tmp_path):
    path = tmp_path / "events.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append_many, args=(path, f"w{i}")) for i in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    messages = {e.message.rsplit("-", 1)[0] for e in read_records(path, RunEvent)}
    assert messages == {f"w{i}-{n}" for i in range(4) for n in range(60)}


def test_a_run_is_owned_by_one_process(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with folder.owned():
        with pytest.raises(WorkspaceError, match="another process"), RunFolder(tmp_path / "run").owned():
            pass
    with folder.owned():
        pass


def test_candidates_and_decisions_come_back_as_they_went(tmp_path):
    folder = RunFolder(tmp_path / "run")
    candidate, decision = a_candidate(), a_decision()
    folder.add_candidate(candidate)
    folder.add_decision(decision)
    folder.add_decision(decision.model_copy(update={"verdict": "confirmed"}))
    assert folder.candidate(candidate.id[:6]) == candidate
    assert [d.verdict for d in folder.decisions()] == ["confirmed"]
    with pytest.raises(UnknownName):
        folder.candidate("0000")


def test_runs_are_found_by_part_and_last(tmp_path):
    workspace = Workspace.open(tmp_path)
    names = []
    for task in ("relu", "softmax"):
        folder = workspace.new_run(task)
        folder.write_text(folder.summary_file, "{}")
        names.append(folder.run_id)
    assert workspace.run("relu").run_id == names[0]
    assert workspace.run("last").run_id in names
    with pytest.raises(UnknownName, match="unknown run 'nothing'"):
        workspace.run("nothing")


def test_growing_files_are_read_on_from_where_they_were(tmp_path):
    folder, other = RunFolder(tmp_path), RunFolder(tmp_path)
    folder.add_decision(a_decision("one"))
    assert [d.technique for d in folder.decisions()] == ["one"]
    other.add_decision(a_decision("two"))
    with folder.decisions_file.open("a") as stream:
        stream.write('{"format": "kernelwright/decis')  # a killed writer
    assert [d.technique for d in folder.decisions()] == ["one", "two"]
    other.add_decision(a_decision("three"))
    changed = folder.decisions()[0].model_copy(update={"verdict": "failed"})
    other.add_decision(changed)
    assert [(d.technique, d.verdict) for d in folder.decisions()] == [("one", "failed"), ("two", ""), ("three", "")]
    assert folder.decisions() == RunFolder(tmp_path).decisions()
    folder.decisions_file.write_text(a_decision("four").to_line() + "\n")  # shorter: read anew
    assert [d.technique for d in folder.decisions()] == ["four"]


@pytest.mark.parametrize("text", ["a\u2028b", "a\u2029b", "a\x85b", "a\udc80b"])
def test_no_text_tears_a_line(tmp_path: Path, text: str) -> None:
    append_line(tmp_path / "e.jsonl", an_event("node", text).to_line())
    assert [e.message for e in read_records(tmp_path / "e.jsonl", RunEvent)] == [text]


def test_a_record_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (told.append("fsync"), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (told.append("replace"), replace(a, b)))
    a_candidate().save(tmp_path / "c.json")
    RunFolder(tmp_path).write_text(tmp_path / "t.txt", "text")
    assert told == ["fsync", "replace"] * 2


def test_a_record_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    folder, candidate = RunFolder(tmp_path), a_candidate()
    (folder.add_candidate(candidate) / "candidate.json").write_text("")
    with pytest.raises(WorkspaceError, match=r"cannot read .*candidate\.json"):
        folder.candidate(candidate.id)
