"""What is shown of an answer while it arrives: progress and whole lines, never a key, not even half of one."""

import pytest
from agents.llm.asking import KEY, Run, a_desk, openai_at
from fakes.openai_server import OpenAIServer, Stalls
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.agents.llm.arriving import Arriving
from kernelwright.agents.llm.desk import Call
from kernelwright.agents.llm.exchange import Message
from kernelwright.errors import ModelError

SECRET = "a-very-private-word"


def arriving(*pieces, secrets=(SECRET,)):
    now, shown = [0.0], []
    answer = Arriving(secrets, lambda characters, line: shown.append((characters, line)), clock=lambda: now[0])
    for piece in pieces:
        answer.hear(piece)
        now[0] += 1.0
        answer.look()
    return answer, shown


def test_progress_is_shown_with_the_last_whole_line():
    _, shown = arriving("one\ntw", "o\nthree", "")
    assert shown == [(6, "one"), (13, "two")]


def test_what_comes_often_is_shown_four_times_a_second():
    now, shown = [0.0], []
    answer = Arriving((), lambda *told: shown.append(told), clock=lambda: now[0])
    for _ in range(100):
        answer.hear("word\n")
        now[0] += 0.01
        answer.look()
    assert 3 <= len(shown) <= 4


@given(st.lists(st.integers(0, 60), max_size=12), st.sampled_from([SECRET, KEY, "Bearer abcdefghijklmnop1234"]))
def test_no_part_of_a_key_is_shown_however_it_is_cut(cuts, key):
    text = f"the key is {key}, keep it\nand so on {key}\n{key}"
    places = sorted({0, len(text), *(c for c in cuts if c < len(text))})
    _, shown = arriving(*(text[a:b] for a, b in zip(places, places[1:], strict=False)))
    assert all(key[-8:] not in line and key[:8] not in line for _, line in shown)


def test_a_line_too_long_to_keep_is_never_shown_in_part():
    answer, shown = arriving("short\n", "x" * 5000, SECRET, "y" * 5000 + "\n", "end\n")
    assert [line for _, line in shown] == ["short", "short", "short", "short", "end"]
    assert answer.characters == 6 + 10001 + len(SECRET) + 4


def test_a_server_that_streams_is_watched_and_nothing_of_it_is_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)
    run, shown = Run(tmp_path / "calls"), []
    text = f"first line\nmy key is {KEY}\nthird"
    with OpenAIServer([Stalls(text + "\n" + "later " * 40)]) as server:
        desk = a_desk(run, openai_at(server.base_url), models__timeout_s=1.5, models__retries=0)
        link = run.link()
        link.show = lambda kind, message="", **data: shown.append((kind, message, data))
        desk.bind(link)
        with pytest.raises(ModelError):
            desk.ask(Call("coder/r1", "coder"), [Message("user", "Hello?")])
    assert [kind for kind, _, _ in shown] == ["stream"] * len(shown) and len(shown) >= 2
    assert shown[0][1] == "third" and shown[0][2]["role"] == "coder" and shown[0][2]["tokens"] > 10
    assert shown[-1][2]["tokens"] == 0
    assert not any(KEY in message for _, message, _ in shown)
    assert not any(kind == "stream" for kind, _ in run.told)
