"""Servers that speak OpenAI's chat completions (OpenAI, vLLM, Ollama, llama.cpp, OpenRouter), by the openai package.

Owns the wire: one attempt a question, its errors sorted into ModelFaults. The package's own retries are switched off,
because the desk counts, pays and tells every attempt.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from kernelwright.agents.llm.exchange import Answer, ModelFault, Question, Usage
from kernelwright.agents.llm.providers import is_local
from kernelwright.agents.llm.redaction import without_secrets
from kernelwright.errors import ConfigError, MissingTool

CONNECT_S = 20.0
_WIRE = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "h11"})
"""Packages below openai whose errors come through while an answer is being streamed."""
NO_KEY = "none"
"""What is sent where a server on this machine wants no key."""


class OpenAICompatible:
    """One model of one server.

    Args:
        model: the name the server knows it by.
        base_url: "" means OpenAI's own.
        api_key_env: the variable that holds the key; "" means no key is sent.
        stream: ask for the answer in pieces, so that a break is noticed at once.

    Raises:
        ConfigError: the variable is not set and the server is not on this machine.
        MissingTool: the openai package is not installed.
    """

    name = "openai"
    waits_for_people = False

    def __init__(self, model: str, *, base_url: str, api_key_env: str, stream: bool) -> None:
        self._model, self._base_url, self._stream = model, base_url, stream
        self._env = api_key_env
        self._client: Any = None
        if not self._key() and not is_local(base_url):
            where = base_url or "OpenAI"
            raise ConfigError(
                f"no key for {where}: the variable {api_key_env or '(none named)'} is not set",
                hint=f"export {api_key_env or 'OPENAI_API_KEY'}=..., or set models.api_key_env / models.base_url",
            )
        try:
            import openai  # noqa: F401
        except ImportError:
            raise MissingTool(
                "talking to a model needs the packages dspy and openai", hint="pip install 'kernelwright[llm]'"
            ) from None

    def secrets(self) -> Sequence[str]:
        """The key."""
        key = self._key()
        return (key,) if key else ()

    def ask(self, question: Question) -> Answer:
        """One attempt."""
        import openai

        try:
            return self._collect(question) if self._stream else self._whole(question)
        except openai.APIStatusError as error:
            raise self._status_fault(error) from None
        except openai.APITimeoutError:
            raise ModelFault("timeout", f"no answer within {question.timeout_s:.0f} s", again=True) from None
        except openai.APIConnectionError as error:
            raise self._fault("connection", f"cannot reach {self._where()}: {_deepest(error)}") from None
        except openai.OpenAIError as error:
            raise self._fault("broken-stream", f"the answer broke off: {_deepest(error)}") from None
        except (ValueError, AttributeError, TypeError, IndexError, KeyError) as error:
            raise self._fault("server", f"the server's answer is not of the expected form: {error}") from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in _WIRE:
                raise
            slow = "Timeout" in type(error).__name__
            said = "the answer stopped in mid-stream" if slow else f"the answer broke off: {_deepest(error)}"
            raise self._fault("timeout" if slow else "broken-stream", said) from None

    def _key(self) -> str:
        return os.environ.get(self._env, "").strip() if self._env else ""

    def _where(self) -> str:
        return self._base_url or "OpenAI"

    def _fault(
        self, kind: str, message: str, *, again: bool = True, wait_s: float | None = None, hint: str = ""
    ) -> ModelFault:
        return ModelFault(kind, without_secrets(message, self.secrets()), again=again, wait_s=wait_s, hint=hint)

    def _open(self) -> Any:
        """The client; made when first needed, with the key in it."""
        if self._client is None:
            import openai

            self._client = openai.OpenAI(api_key=self._key() or NO_KEY, base_url=self._base_url or None, max_retries=0)
        return self._client

    def _request(self, question: Question) -> dict[str, Any]:
        import openai

        limit = "max_tokens" if self._base_url else "max_completion_tokens"  # OpenAI's newer models refuse the old name
        asked: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": m.role, "content": m.text} for m in question.messages],
            limit: question.max_tokens,
            "timeout": openai.Timeout(question.timeout_s, connect=min(CONNECT_S, question.timeout_s)),
        }
        if question.temperature is not None:
            asked["temperature"] = question.temperature
        return asked

    def _whole(self, question: Question) -> Answer:
        reply = self._open().chat.completions.create(**self._request(question))
        choice = reply.choices[0]
        return Answer(
            text=choice.message.content or "",
            finish=_finish(choice.finish_reason, getattr(choice.message, "refusal", None)),
            usage=_usage(reply.usage),
            model=reply.model or self._model,
        )

    def _collect(self, question: Question) -> Answer:
        """Put an answer together from its pieces; every piece has to come within the time that is left."""
        deadline = time.monotonic() + question.timeout_s
        pieces: list[str] = []
        finish, refusal, usage, model = "", "", Usage(), self._model
        options = {"stream": True, "stream_options": {"include_usage": True}}
        with self._open().chat.completions.create(**self._request(question), **options) as stream:
            for chunk in stream:
                if question.stopped():
                    raise ModelFault("stopped", "interrupted while the model was answering", again=False)
                if time.monotonic() > deadline:
                    raise ModelFault(
                        "timeout", f"the answer was not finished within {question.timeout_s:.0f} s", again=True
                    )
                model = chunk.model or model
                usage = _usage(chunk.usage) if chunk.usage is not None else usage
                for choice in chunk.choices[:1]:
                    pieces.append(choice.delta.content or "")
                    question.heard(pieces[-1])
                    refusal += getattr(choice.delta, "refusal", None) or ""
                    finish = choice.finish_reason or finish
        if not finish:
            raise ModelFault("broken-stream", "the stream ended before the answer did", again=True)
        return Answer("".join(pieces), _finish(finish, refusal), usage, model)

    def _status_fault(self, error: Any) -> ModelFault:
        """A refused request, sorted by its status."""
        status, said = error.status_code, _said(error)
        if status == 401:
            hint = f"check the key in {self._env or 'models.api_key_env'}"
            return self._fault(
                "unauthorised", f"{self._where()} does not accept the key (401): {said}", again=False, hint=hint
            )
        if status == 403:
            hint = "the key has no right to this model or from this place"
            return self._fault(
                "unauthorised", f"{self._where()} forbids the request (403): {said}", again=False, hint=hint
            )
        if status == 404:
            hint = "check models.model and models.base_url (most servers want a path that ends in /v1)"
            return self._fault(
                "unknown-model", f"{self._where()} has no {self._model!r} (404): {said}", again=False, hint=hint
            )
        if status in (408, 409, 429) or status >= 500:
            kind = "rate-limit" if status == 429 else "server"
            quota = status == 429 and "insufficient_quota" in said
            wait = _retry_after(error.response.headers.get("retry-after"))
            return self._fault(kind, f"{self._where()} answered {status}: {said}", again=not quota, wait_s=wait)
        return self._fault("refused-request", f"{self._where()} refused the request ({status}): {said}", again=False)


def _said(error: Any) -> str:
    """What the server said, in a line."""
    body = error.body
    message = body.get("message") or body.get("error") if isinstance(body, dict) else None
    code = body.get("code") if isinstance(body, dict) else None
    text = " ".join(str(message or error.message).split())[:300]
    return f"{text} [{code}]" if code else text


def _deepest(error: BaseException) -> str:
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    return str(error) or type(error).__name__


def _retry_after(text: str | None) -> float | None:
    try:
        return min(600.0, max(0.0, float(text))) if text else None
    except ValueError:
        return None


def _finish(reason: str | None, refusal: str | None) -> str:
    return "refusal" if refusal else (reason or "stop")


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(usage.prompt_tokens, usage.completion_tokens, getattr(details, "cached_tokens", None))
