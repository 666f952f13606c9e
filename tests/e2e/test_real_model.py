"""A real language model over the wire: connection, usage, streaming, and a whole run whose every answer is real.

SmolLM2-135M writes no kernels; what is tested is that nothing of the way to it depends on our own scripted server.
"""

import pytest
from agents.llm.asking import Run, a_desk
from agents.loop import TextExecutor, a_config, run_loop
from e2e.real_model import llama_server, model_file, readme

from kernelwright.agents.llm.desk import Call
from kernelwright.agents.llm.exchange import Message, Question
from kernelwright.agents.llm.ledger import read_calls
from kernelwright.agents.llm.providers import open_provider

pytestmark = [pytest.mark.real_model, pytest.mark.skipif(not model_file(), reason=readme())]
ASK = [Message("system", "You answer in one short sentence."), Message("user", "What is the capital of France?")]


@pytest.fixture(scope="module")
def base_url():
    with llama_server() as url:
        yield url


def provider(base_url, *, stream):
    return open_provider("openai/smollm2", base_url=base_url, api_key_env="", stream=stream)


@pytest.mark.parametrize("stream", [True, False])
def test_a_real_answer_is_written_with_its_tokens(base_url, tmp_path, stream):
    run = Run(tmp_path / "calls", left_s=900.0)
    desk = a_desk(run, provider(base_url, stream=stream), models__max_output_tokens=40, models__timeout_s=600.0)
    answer = desk.ask(Call("coder/r1", "coder"), ASK)
    (written,) = read_calls(run.calls)
    assert answer.text.strip() and written.state == "answered" and written.finish in ("stop", "length")
    if not stream:  # whether a stream ends with a count of tokens is the server's choice; unknown stays unknown
        assert written.input_tokens > 10 and 0 < written.output_tokens <= 40
    assert written.cost_usd is None


def test_a_real_answer_comes_in_pieces(base_url):
    pieces = []
    question = Question(ASK, max_tokens=40, temperature=0.0, timeout_s=600.0, name="q", heard=pieces.append)
    answer = provider(base_url, stream=True).ask(question)
    assert len([p for p in pieces if p]) > 3 and "".join(pieces) == answer.text


def test_a_whole_run_ends_in_peace_whatever_the_model_says(base_url, tmp_path):
    config = a_config(
        models__model="openai/smollm2", models__base_url=base_url, models__api_key_env="", models__stream=True,
        models__max_output_tokens=96, models__format_retries=1, models__timeout_s=600.0, budget__seconds=1500.0,
    )  # fmt: skip
    events = []
    summary, folder = run_loop(tmp_path / "w", config, executor=TextExecutor(), view=events.append)
    calls = read_calls(folder.calls)
    assert summary.state == "finished" and calls and all(c.state == "answered" for c in calls)
    assert {c.role for c in calls} >= {"planner"}
    assert any(e.kind == "stream" and e.data["tokens"] for e in events)
