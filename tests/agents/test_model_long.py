"""A run of 200 rounds: kernelwright's own processor time a round, the checkpoint's size, and memory that stays flat."""

import json
import resource
import time

import pytest
from agents.loop import TextExecutor, a_config, decisions_json, kernel, role_of, run_loop
from fakes.openai_server import OpenAIServer, Says

ROUNDS = 200


@pytest.mark.slow
def test_two_hundred_rounds(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "none-needed")
    count = {"planner": 0, "coder": 0}
    sizes, memory = [], []
    began = time.process_time()

    def model(body):
        role = role_of(body)
        if role == "planner":
            count["planner"] += 1
            return Says(decisions_json(f"idea {count['planner']}", technique=f"t{count['planner']}"))
        if role == "coder":
            count["coder"] += 1
            return Says(kernel(f"us={400 - count['coder']}"))
        return Says(json.dumps({"decisions": [], "next_move": "go on", "go_on": True}))

    def view(event):
        if event.kind == "node" and event.node == "reflector":
            (checkpoint,) = (tmp_path / "w" / "runs").glob("*/checkpoint.sqlite")
            sizes.append(sum(p.stat().st_size for p in checkpoint.parent.glob("checkpoint.sqlite*")))
            memory.append((time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))

    with OpenAIServer([model]) as server:
        config = a_config(
            models__base_url=server.base_url, budget__rounds=ROUNDS, budget__seconds=3000.0, budget__measurements=9999,
            search__patience=999,
        )  # fmt: skip
        summary, _ = run_loop(tmp_path / "w", config, executor=TextExecutor(), view=view)
    assert summary.rounds == ROUNDS
    per_round_ms = (memory[-1][0] - memory[19][0]) / (ROUNDS - 20) * 1000
    late_ms = (memory[-1][0] - memory[-21][0]) / 20 * 1000
    print(f"processor time a round with the server: {per_round_ms:.0f} ms (last twenty {late_ms:.0f} ms)")
    print(f"checkpoint {sizes[-1] / 1e6:.2f} MB, ", end="")
    print(f"memory {memory[19][1]:.0f} MiB after 20 rounds, {memory[-1][1]:.0f} MiB after {ROUNDS}")
    assert max(sizes) < 20e6
    assert memory[-1][1] - memory[19][1] < 40
