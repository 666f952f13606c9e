"""Without a profile a model reads right and wrong alone; what is measured and kept is the same as with one."""

import json
import re

import pytest
from agents.loop import a_config, decisions_json, edit, kernel, role_of, run_loop
from fakes.openai_server import OpenAIServer, Says
from fakes.records import a_baseline, a_candidate, a_decision, a_ratio, a_task, an_evaluation, some_facts

from kernelwright.agents import showing
from kernelwright.agents.blindfold import RIGHT, right_or_wrong, unmeasured
from kernelwright.agents.llm.ledger import read_calls
from kernelwright.protocols import Knowledge
from kernelwright.records import Trial

SPEED = re.compile(
    r"\d(\.\d+)?x\b|\d us\b|times the machine's floor|Roof|GFLOP/s|[Ll]imited by|slower|faster than|"
    r"of the predicted"
)
"""What tells how fast something was."""
REFLECTION = '```json\n{"decisions": [], "next_move": "tile it", "go_on": true}\n```'


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("TEST_KEY", "sk-test-0123456789abcdefghij")


def prompts_of(place, **values):
    """Run two rounds with a repair; (role, what the model was asked) of every call, and the run's folder."""
    answers = {
        "planner": [decisions_json("One pass"), decisions_json("Tile it", technique="tile")],
        "coder": [kernel("WRONG"), kernel("us=40")],
        "repairer": [edit("WRONG", "us=50")],
        "reflector": [REFLECTION],
    }
    asked = []

    def model(body):
        role = role_of(body)
        asked.append((role, body["messages"][-1]["content"]))
        left = answers[role]
        return Says(left.pop(0) if len(left) > 1 else left[0])

    with OpenAIServer([model]) as server:
        config = a_config(models__base_url=server.base_url, budget__rounds=2, **values)
        _, folder = run_loop(place, config)
    return asked, folder


def test_a_run_without_a_profile_shows_a_model_no_speed(tmp_path):
    seeing, with_all = prompts_of(tmp_path / "a")
    blind, without = prompts_of(tmp_path / "b", profile=False)
    assert {role for role, _ in blind} == {"planner", "coder", "repairer", "reflector"}
    for role, text in blind:
        own = re.sub(r"(?s)```json.*?```", "", re.sub(r"(?m)^Predicted:.*$", "", text))  # what it said itself
        found = [line for line in own.splitlines() if SPEED.search(line) and "start_from" not in line]
        assert not found, f"{role} reads {found}"
    assert any("4.40x" in text for _, text in seeing), "the same run with a profile tells them"
    later = [text for role, text in blind if role == "planner"][1]
    assert RIGHT in later and "Next: tile it" in later and ": passed" in later
    for folder in (with_all, without):
        first, second = folder.decisions()
        assert first.measured is not None and second.measured is not None, "measured and kept all the same"
    assert [d.verdict for d in with_all.decisions()] == [d.verdict for d in without.decisions()]
    assert len(read_calls(without.calls)) == len(blind)


def test_what_was_refused_keeps_its_reason():
    failed = a_decision(verdict="failed", learned="WRONG_VALUES: element (0, 5) is 1.5, expected 3.0")
    assert unmeasured(failed).learned == failed.learned and unmeasured(failed).verdict == "failed"
    gained = a_decision(verdict="partly", learned="predicted 2.00x, measured 1.40x", measured=a_ratio(1.4))
    bare = unmeasured(gained)
    assert (bare.verdict, bare.measured, bare.learned) == ("", None, RIGHT)
    assert bare.key == gained.key, "it is still known as tried"
    worded = a_decision(verdict="refuted", learned=f"{RIGHT}. Too many loads. Next: fewer")
    assert unmeasured(worded).learned == worded.learned


def test_baselines_trials_and_evaluations_lose_their_times():
    candidate = a_candidate("// us=50\n")
    evaluation = an_evaluation(candidate, speedup=2.0, latency_us={"default": 50.0})
    trial = Trial(candidate_id=candidate.id, base_id=candidate.id, status=evaluation.status, score=2.5)
    known = Knowledge(
        task=a_task(),
        facts=some_facts(a_task()),
        baselines=[a_baseline("eager", {"default": 100.0})],
        best=candidate,
        pool=[candidate],
        best_evaluation=evaluation,
        evaluations={candidate.id: evaluation},
        trials=[trial],
    )
    assert SPEED.search(showing.candidates_text([candidate], known)) and SPEED.search(showing.baselines_text(known))
    bare = right_or_wrong(known)
    assert showing.measured_text(bare.best_evaluation) == "passed"
    assert "Measured: passed" in showing.candidates_text([candidate], bare)
    assert "no time is told" in showing.baselines_text(bare)
    for text in (showing.candidates_text([candidate], bare), showing.baselines_text(bare)):
        assert not SPEED.search(text)
    assert known.best_evaluation.speedup is not None, "the knowledge itself is left alone"
    assert json.dumps(evaluation.to_json()) == json.dumps(known.evaluations[candidate.id].to_json())
