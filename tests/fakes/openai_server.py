"""A server on loopback that speaks OpenAI's chat completions, whole or streamed, and misbehaves on order.

with OpenAIServer([Says("hello"), Fails(429, retry_after="0"), Stalls("half an ans")]) as server:
    ... server.base_url ...; server.requests

Answers are used in order; the last one repeats. A callable entry is given the request's body and returns an answer.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Says:
    """An answer with usage."""

    text: str
    finish: str = "stop"
    refusal: str = ""
    usage: bool = True
    cached: int = 0
    pause_s: float = 0.0
    """In the middle of a streamed answer."""


@dataclass(frozen=True)
class Fails:
    """An error status with OpenAI's body."""

    status: int
    message: str = "no"
    code: str = ""
    retry_after: str = ""


@dataclass(frozen=True)
class Stalls:
    """Sends some of the answer, then nothing until the client goes away."""

    text: str


@dataclass(frozen=True)
class Breaks:
    """Sends some of the answer, then closes the connection."""

    text: str


@dataclass(frozen=True)
class Garbles:
    """Answers 200 with this body."""

    body: str


Reply = Says | Fails | Stalls | Breaks | Garbles
Entry = Reply | Callable[[dict[str, Any]], Reply]


class OpenAIServer:
    """The server; starts on entering, ends on leaving."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.over = threading.Event()
        self._entries, self._next, self._lock = list(entries), 0, threading.Lock()
        owner = self

        class Handler(_Handler):
            server_of = owner

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def take(self, body: dict[str, Any], key: str) -> Reply:
        """The next answer."""
        with self._lock:
            self.requests.append(body)
            self.keys.append(key)
            entry = self._entries[min(self._next, len(self._entries) - 1)]
            self._next += 1
        return entry(body) if callable(entry) else entry

    def __enter__(self) -> OpenAIServer:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: OpenAIServer

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.server_of.take(body, self.headers.get("authorization", ""))
        if isinstance(reply, Fails):
            error = {"message": reply.message, "code": reply.code or None, "type": "error"}
            head = {"retry-after": reply.retry_after} if reply.retry_after else {}
            self._send(reply.status, json.dumps({"error": error}), head)
        elif isinstance(reply, Garbles):
            self._send(200, reply.body, {})
        elif body.get("stream"):
            self._stream(reply, body)
        elif isinstance(reply, Says):
            self._send(200, json.dumps(_whole(reply, body)), {})
        else:
            self._half(reply)

    def _send(self, status: int, text: str, head: dict[str, str]) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(data)), **head}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _half(self, reply: Stalls | Breaks) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b'{"id":')
        self.wfile.flush()
        if isinstance(reply, Stalls):
            self.server_of.over.wait(20)
        self.close_connection = True

    def _stream(self, reply: Says | Stalls | Breaks, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        half = max(1, len(reply.text) // 2)
        for piece in (reply.text[:half], reply.text[half:]):
            self._event({"delta": {"role": "assistant", "content": piece}}, body)
            time.sleep(reply.pause_s if isinstance(reply, Says) else 0.0)
        if isinstance(reply, Stalls):
            self.server_of.over.wait(20)
        if not isinstance(reply, Says):
            self.close_connection = True
            return
        if reply.refusal:
            self._event({"delta": {"refusal": reply.refusal}}, body)
        self._event({"delta": {}, "finish_reason": reply.finish}, body)
        if reply.usage:
            self._event(None, body, usage=_usage(reply, body))
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _event(self, choice: dict[str, Any] | None, body: dict[str, Any], usage: Any = None) -> None:
        choices = [{"index": 0, "finish_reason": None, **choice}] if choice is not None else []
        told = {**_frame(body), "object": "chat.completion.chunk", "choices": choices, "usage": usage}
        self._chunk(f"data: {json.dumps(told)}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def _frame(body: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "created": 0, "model": body["model"] + "-2025"}


def _usage(reply: Says, body: dict[str, Any]) -> dict[str, Any]:
    asked = sum(len(m["content"]) for m in body["messages"]) // 4
    told = {"prompt_tokens": asked, "completion_tokens": len(reply.text) // 4}
    return {**told, "total_tokens": sum(told.values()), "prompt_tokens_details": {"cached_tokens": reply.cached}}


def _whole(reply: Says, body: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text or None, "refusal": reply.refusal or None}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    usage = _usage(reply, body) if reply.usage else None
    return {**_frame(body), "object": "chat.completion", "choices": [choice], "usage": usage}
