"""The desk against a real HTTP server: every way in which a call can go wrong, by its stated rule."""

import json
import os
import threading
import time

import pytest
from agents.llm.asking import KEY, Run, a_desk, openai_at
from fakes.openai_server import Breaks, Fails, Garbles, OpenAIServer, Says, Stalls

from kernelwright.agents.llm.desk import Call, LimitReached
from kernelwright.agents.llm.exchange import Message
from kernelwright.agents.llm.ledger import read_calls
from kernelwright.agents.llm.providers import open_provider
from kernelwright.agents.llm.relay import RelayProvider
from kernelwright.errors import ConfigError, ModelError

ASK = [Message("system", "Be brief."), Message("user", "Hello?")]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path / "calls")


def call(slot: str = "coder/r1", role: str = "coder") -> Call:
    return Call(slot, role, round=1, decision="d1", prompt_version="v1234567890", lessons=("l1",))


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_is_written_with_its_tokens_and_cost(run, stream):
    prices = {"tiny": {"input": 1.0, "output": 10.0, "cached": 0.1}}
    with OpenAIServer([Says("x" * 400, cached=2)]) as server:
        desk = a_desk(run, openai_at(server.base_url, stream=stream), models__prices=prices)
        assert desk.ask(call(), ASK).text == "x" * 400
        assert server.requests[0]["max_tokens"] == desk.options.max_output_tokens
        assert server.keys == [f"Bearer {KEY}"]
    (written,) = read_calls(run.calls)
    assert (written.state, written.answered_by, written.finish) == ("answered", "tiny-2025", "stop")
    assert (written.input_tokens, written.output_tokens, written.cached_tokens) == (3, 100, 2)
    assert written.cost_usd == pytest.approx((1 * 1.0 + 2 * 0.1 + 100 * 10.0) / 1e6)
    assert (written.prompt_version, written.lessons, written.decision) == ("v1234567890", ("l1",), "d1")
    assert written.messages[1]["content"] == "Hello?"


def test_an_unknown_price_is_unknown_and_not_nothing(run):
    with OpenAIServer([Says("a"), Says("b", usage=False)]) as server:
        desk = a_desk(run, openai_at(server.base_url))
        desk.ask(call("a"), ASK)
        desk.ask(call("b"), ASK)
    totals = desk.totals()
    assert (totals.calls, totals.cost_unknown, totals.tokens_unknown, totals.cost_usd) == (2, 2, 1, 0.0)
    assert all(c.cost_usd is None for c in desk.ledger.calls)
    with pytest.raises(ConfigError, match="price of openai/tiny"):
        a_desk(run, openai_at("http://127.0.0.1:1/v1"), budget__cost_usd=1.0)


def test_a_written_answer_is_never_paid_again(run):
    with OpenAIServer([Says("first")]) as server:
        a_desk(run, openai_at(server.base_url)).ask(call(), ASK)
        again = a_desk(run, openai_at(server.base_url))  # another process after kill -9
        assert again.ask(call(), [Message("user", "worded otherwise")]).text == "first"
        assert len(server.requests) == 1
        assert again.ask(call("other"), ASK).text == "first"
        assert [c.number for c in again.ledger.calls] == [1, 2]


def test_a_call_killed_in_mid_air_is_asked_again_under_its_number(run):
    with OpenAIServer([Says("late")]) as server:
        desk = a_desk(run, openai_at(server.base_url))
        desk._write(desk._record(call(), ASK, None))  # as it lies there after kill -9
        fresh = a_desk(run, openai_at(server.base_url))
        assert fresh.ask(call(), ASK).text == "late"
        assert [(c.number, c.state) for c in read_calls(run.calls)] == [(1, "answered")]


@pytest.mark.parametrize(
    "trouble",
    [
        Fails(429, retry_after="0"),
        Fails(500),
        Fails(503),
        Breaks("half an"),
        Garbles("not json"),
        Garbles('{"choices": []}'),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_what_may_pass_is_tried_again(run, trouble, stream):
    if isinstance(trouble, Garbles) and stream:
        return  # a stream without events ends as a broken one; the case above
    with OpenAIServer([trouble, Says("well")]) as server:
        desk = a_desk(run, openai_at(server.base_url, stream=stream))
        assert desk.ask(call(), ASK).text == "well"
        assert len(server.requests) == 2
    (written,) = read_calls(run.calls)
    assert len(written.attempts) == 1
    assert [kind for kind, _ in run.told].count("warning") == 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_timeout_in_mid_stream_is_tried_again_and_then_reported(run, stream):
    with OpenAIServer([Stalls("half an")]) as server:
        desk = a_desk(run, openai_at(server.base_url, stream=stream), models__timeout_s=0.4, models__retries=1)
        with pytest.raises(ModelError, match=r"2 tries.*resume|2 tries"):
            desk.ask(call(), ASK)
    (written,) = read_calls(run.calls)
    assert written.state == "failed"
    assert all(a.startswith(("timeout", "broken-stream")) for a in written.attempts)


@pytest.mark.parametrize(
    ("status", "words"), [(401, "TEST_KEY"), (403, "forbids"), (404, "base_url"), (400, "refused the request")]
)
def test_what_no_retry_cures_ends_at_once_with_what_to_do(run, status, words):
    with OpenAIServer([Fails(status, message=f"bad key {KEY}")]) as server:
        with pytest.raises(ModelError) as caught:
            a_desk(run, openai_at(server.base_url)).ask(call(), ASK)
        assert len(server.requests) == 1
    assert words in str(caught.value) and "resume" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_quota_that_is_used_up_is_not_tried_again(run):
    with OpenAIServer([Fails(429, message="You have no credit", code="insufficient_quota")]) as server:
        with pytest.raises(ModelError, match="insufficient_quota"):
            a_desk(run, openai_at(server.base_url)).ask(call(), ASK)
        assert len(server.requests) == 1


def test_a_refused_connection(run):
    with pytest.raises(ModelError, match=r"3 tries.*cannot reach"):
        a_desk(run, openai_at("http://127.0.0.1:9/v1")).ask(call(), ASK)


def test_no_key_is_said_before_anything_begins(monkeypatch):
    monkeypatch.delenv("TEST_KEY")
    with pytest.raises(ConfigError, match="TEST_KEY is not set"):
        openai_at("https://models.example/v1")
    assert openai_at("http://localhost:8000/v1").secrets() == ()


@pytest.mark.parametrize("model", ["gpt-4.1", "openai/", "relay:", "ollama/x", "scripted:"])
def test_unknown_forms_of_models(model):
    with pytest.raises(ConfigError, match="unknown model"):
        open_provider(model, base_url="", api_key_env="TEST_KEY", stream=True)


def test_limits_of_money_and_tokens(run):
    prices = {"tiny": {"input": 0.0, "output": 1000.0}}
    with OpenAIServer([Says("x" * 400)]) as server:
        desk = a_desk(run, openai_at(server.base_url), models__prices=prices, budget__cost_usd=0.05)
        desk.ask(call("a"), ASK)
        with pytest.raises(LimitReached, match="budget: money"):
            desk.ask(call("b"), ASK)
        assert desk.ask(call("a"), ASK).text  # what was paid for stays usable
    desk = a_desk(run, openai_at("http://127.0.0.1:9/v1"), budget__tokens=50)
    assert desk.limit() == "budget: tokens"


def test_the_end_of_the_runs_time_and_ctrl_c_end_a_waiting_call(run, tmp_path):
    desk = a_desk(run, RelayProvider(tmp_path / "r"), model="relay:r")
    run.left_s = 0.0
    with pytest.raises(LimitReached, match="budget: time"):
        desk.ask(call(), ASK)
    run.left_s, run.stopped = 60.0, True
    with pytest.raises(LimitReached, match="interrupted"):
        desk.ask(call("b"), ASK)


@pytest.mark.parametrize("stream", [True, False])
def test_ctrl_c_is_heard_while_the_wire_is_silent(run, stream):
    with OpenAIServer([Stalls("half an")]) as server:
        desk = a_desk(run, openai_at(server.base_url, stream=stream))
        threading.Timer(0.3, lambda: setattr(run, "stopped", True)).start()
        with pytest.raises(LimitReached, match="interrupted"):
            desk.ask(call(), ASK)
    assert read_calls(run.calls)[0].state == "failed"


def test_keys_are_nowhere(run):
    leak = f"my key is {KEY}, and another sk-abcdefghijklmnopqrstuvwx"
    with OpenAIServer([Fails(500, message=leak), Says(f"you said {KEY}")]) as server:
        desk = a_desk(run, openai_at(server.base_url))
        answer = desk.ask(call(), [Message("user", leak)])
    text = "".join(p.read_text() for p in run.calls.iterdir()) + str(run.told) + answer.text + repr(desk._models)
    assert KEY not in text and "sk-abcdefgh" not in text
    assert "[key removed]" in answer.text


def test_prompts_can_be_kept_out(run):
    with OpenAIServer([Says("ok")]) as server:
        a_desk(run, openai_at(server.base_url), models__store_prompts=False).ask(call(), ASK)
    text = (run.calls / "0001.json").read_text()
    assert "Hello?" not in text and json.loads(text)["prompt_hash"]


def test_relay_takes_whole_answers_under_a_name_that_a_resume_finds(run, tmp_path):
    place = tmp_path / "relay"
    desk = a_desk(run, RelayProvider(place, poll_s=0.01), model="relay:x")
    seen = {}

    def answer() -> None:
        inbox = place / "inbox"
        while not (found := sorted(inbox.glob("*.md"))):
            time.sleep(0.01)
        seen["asked"] = found[0].read_text()
        target = place / "outbox" / found[0].name
        with target.open("w") as stream:  # in pieces, as a careless writer does
            stream.write("the ")
            stream.flush()
            time.sleep(0.1)
            stream.write("answer")

    worker = threading.Thread(target=answer)
    worker.start()
    assert desk.ask(call(), ASK).text == "the answer"
    worker.join()
    assert "Be brief." in seen["asked"] and "Hello?" in seen["asked"]
    (asked,) = (place / "inbox").iterdir()
    assert asked.name == "run1.0001.coder.md"
    assert not list(place.rglob(".*"))
    # killed before the answer was taken: the same slot finds it again
    again = a_desk(Run(tmp_path / "other"), RelayProvider(place, poll_s=0.01), model="relay:x")
    os.utime(place / "outbox" / asked.name, (1, 1))
    assert again.ask(call(), ASK).text == "the answer"


def test_nothing_of_a_question_is_kept_in_memory_once_it_is_answered(run):
    import tracemalloc

    from kernelwright.agents.llm import modules

    reply = '```json\n{"decisions": [], "next_move": "go on", "go_on": true}\n```'
    with OpenAIServer([Says(reply)]) as server:
        desk = a_desk(run, openai_at(server.base_url, stream=False))

        def asked(number):
            text = f"{number:02d} " * 15_000
            asking = call(f"s{number}", "reflector")
            modules.predict(modules.Reflect, "You reflect.", {"task": text}, desk=desk, call=asking)
            server.requests.clear()

        asked(1)
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for number in range(10, 16):
                asked(number)
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
    assert grown < 2 * 45_000  # six questions of 45 kB each
