"""search run, train, diff: what they write, say and refuse. Compilation and timing are real, and small."""

import json

import pytest
from typer.testing import CliRunner

from kernelwright.cli.app import app
from kernelwright.cli.search import _model, _read, _started
from kernelwright.errors import ConfigError, TaskError, UserError, WorkspaceError
from kernelwright.tasks.loading import find_task, shipped_tasks, standard_roots

runner = CliRunner()


def test_diff_names_what_changed(tmp_path):
    (tmp_path / "a.txt").write_text("f: root, vectorize 8\n")
    (tmp_path / "b.txt").write_text("f: root, vectorize 16\n")
    done = runner.invoke(app, ["search", "diff", str(tmp_path / "a.txt"), str(tmp_path / "b.txt")])
    assert done.exit_code == 1 and done.stdout == "- f: root, vectorize 8\n+ f: root, vectorize 16\n"
    done = runner.invoke(app, ["search", "diff", str(tmp_path / "a.txt"), str(tmp_path / "a.txt"), "--json"])
    assert done.exit_code == 0 and json.loads(done.stdout)["lines"] == []


def test_diff_refuses_what_is_no_schedule(tmp_path):
    (tmp_path / "a.txt").write_text("nothing\n")
    done = runner.invoke(app, ["search", "diff", str(tmp_path / "a.txt"), str(tmp_path / "none")])
    assert isinstance(done.exception, UserError) and "line 1" in str(done.exception)


def test_an_unknown_method_is_refused(tmp_path):
    done = runner.invoke(app, ["search", "run", "row_sum", "--out", str(tmp_path), "--method", "oracle"])
    assert isinstance(done.exception, ConfigError) and "beam" in str(done.exception)


def test_a_model_that_is_none_is_refused(tmp_path):
    (tmp_path / "m.json").write_text("{}")
    with pytest.raises(ConfigError, match="train one anew"):
        _model(tmp_path / "m.json")


@pytest.mark.slow
def test_run_writes_a_schedule_and_goes_on_where_it_was(tmp_path):
    command = ["search", "run", "row_sum", "--out", str(tmp_path / "o"), "--workspace", str(tmp_path / "w"), "--json"]
    told = [json.loads(runner.invoke(app, [*command, "--measurements", n]).stdout) for n in ("3", "5")]
    assert [t["measured"] for t in told] == [3, 5] and told[1]["best_us"] <= told[0]["best_us"]
    assert (tmp_path / "o" / "schedule.txt").read_text() == told[1]["schedule"]
    assert json.loads((tmp_path / "o" / "candidate.json").read_text())["language"] == "halide"


@pytest.mark.slow
def test_a_halide_candidate_becomes_portable_code(tmp_path):
    from search.pipelines import made

    from kernelwright.search.schedule_space import candidate_of

    made_of = candidate_of({"small": made("softmax")[0]}, [], imported=None, tunables=())
    (tmp_path / "c").mkdir()
    for file in made_of.files:
        (tmp_path / "c" / file.path).write_text(file.text)
    out = tmp_path / "kernel.cpp"
    done = runner.invoke(app, ["search", "code", str(tmp_path / "c"), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["workload"] == "small" and "kw_pipeline" in out.read_text()
    done = runner.invoke(app, ["search", "code", str(tmp_path / "c"), "--out", str(out), "--workload", "large"])
    assert "small" in str(done.exception)


@pytest.mark.slow
def test_train_measures_here_and_writes_a_model_with_provenance(tmp_path):
    command = ["search", "train", "--out", str(tmp_path), "--pipelines", "4", "--schedules", "4", "--seconds", "300"]
    done = runner.invoke(app, [*command, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "cost_model.json").read_text())["provenance"]["held_out"]["pipelines"] == 1


@pytest.mark.slow
def test_an_algorithm_written_by_hand_is_searched_and_a_wrong_one_is_not(tmp_path):
    right = shipped_tasks() / "box_blur_3x3" / "algorithm.json"
    wrong = tmp_path / "wrong.json"
    wrong.write_text(right.read_text().replace("0.1111111111111111", "0.2"))
    command = ["search", "run", "box_blur_3x3", "--measurements", "4", "--workspace", str(tmp_path / "w"), "--json"]
    refused = runner.invoke(app, [*command, "--algorithm", str(wrong), "--out", str(tmp_path / "a")])
    assert isinstance(refused.exception, TaskError) and "WRONG_VALUES" in str(refused.exception)
    assert not (tmp_path / "a").exists(), "nothing was searched"
    done = runner.invoke(app, [*command, "--algorithm", str(right), "--out", str(tmp_path / "b")])
    assert json.loads(done.stdout)["measured"] == 4, done.output
    assert "blurx" in (tmp_path / "b" / "candidate.json").read_text()
    other = runner.invoke(app, [*command, "--out", str(tmp_path / "b")])
    assert "another task or algorithm" in str(other.exception)


def test_a_search_for_other_threads_is_not_gone_on_with(tmp_path):
    task = find_task("row_sum", {}, standard_roots(tmp_path))
    asked = {"format": "kernelwright/search-start/1", "task": task.id, "algorithm": "", "threads": 1}
    (tmp_path / "start.json").write_text(json.dumps(asked))
    with pytest.raises(WorkspaceError, match="threads"):
        _started(None, task, None, tmp_path, threads=2)


def test_a_list_is_no_schedule(tmp_path):
    (tmp_path / "s.json").write_text("[]")
    with pytest.raises(UserError, match="is no schedule"):
        _read(tmp_path / "s.json")
