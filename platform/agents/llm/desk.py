"""ModelDesk: every question to a model goes over it. Slots, limits, retries, the ledger and the run's story.

It never reads an answer's content and never chooses another model than the configured one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kernelwright.agents.llm.arriving import Arriving, tokens_so_far
from kernelwright.agents.llm.assembling import tokens_of
from kernelwright.agents.llm.exchange import Answer, Message, ModelFault, Provider, Question
from kernelwright.agents.llm.ledger import CallRecord, Ledger, Totals, messages_hash
from kernelwright.agents.llm.prices import PriceTable
from kernelwright.agents.llm.redaction import without_secrets
from kernelwright.config import BudgetConfig, ModelsConfig
from kernelwright.errors import ConfigError, ModelError
from kernelwright.workspace import disk_errors, now

LONGEST_PAUSE_S = 60.0
GRACE_S = 2.0
"""How much later than the provider's own limit an answer is given up from outside."""


class LimitReached(Exception):
    """Nothing more may be asked; ``str()`` is the run's ending, e.g. ``budget: money``."""


@dataclass(frozen=True)
class Call:
    """What a question is for; all of it goes into the call's file."""

    slot: str
    role: str
    round: int = 0
    decision: str = ""
    candidate: str = ""
    prompt_version: str = ""
    lessons: tuple[str, ...] = ()
    exemplars: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass
class RunLink:
    """What a run lends to the desk."""

    run_id: str
    calls: Path
    left_s: Callable[[], float]
    """Wall time that may still be spent on answers, seconds."""
    stopped: Callable[[], bool]
    emit: Callable[..., None] = lambda kind, message="", **data: None
    show: Callable[..., None] = lambda kind, message="", **data: None
    """As ``emit``, for whoever watches alone: nothing of it is stored."""


@dataclass(frozen=True)
class RoleModel:
    """The model of one role."""

    model: str
    provider: Provider = field(repr=False)


class ModelDesk:
    """Asks the configured models.

    Args:
        models: role -> its model.
        options: the configuration's ``models`` section.
        budget: limits of money and tokens.
        clock: seconds, for waiting times.
        sleep: waits between attempts.

    Raises:
        ConfigError: a limit of money, and the price of a model that is not known.
    """

    def __init__(
        self,
        models: Mapping[str, RoleModel],
        options: ModelsConfig,
        budget: BudgetConfig,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._models, self.options, self._budget = models, options, budget
        self._clock, self._sleep = clock, sleep
        self._lock = threading.RLock()
        """Coders ask at the same time; numbers are given and files written one at a time."""
        self._prices = PriceTable({name: price.model_dump(exclude_none=True) for name, price in options.prices.items()})
        self._run: RunLink | None = None
        self._ledger: Ledger | None = None
        unknown = sorted({m.model for m in models.values() if self._prices.find(m.model) is None})
        if budget.cost_usd and unknown:
            raise ConfigError(
                f"budget.cost_usd needs the price of {', '.join(unknown)}, which is not known",
                hint='set models.prices, e.g. {"openai/my-model": {input: 0.2, output: 0.8, cached: 0.02}}',
            )

    def bind(self, run: RunLink) -> None:
        """Work for a run from now on; answers that it has had already are not asked for again."""
        self._run, self._ledger = run, Ledger(run.calls)
        for role, chosen in self._models.items():
            skip = getattr(chosen.provider, "skip", None)
            if skip is not None:
                skip(role, sum(c.role == role and c.state == "answered" for c in self._ledger.calls))

    @property
    def ledger(self) -> Ledger:
        """The run's calls."""
        assert self._ledger is not None, "bind() comes first"
        return self._ledger

    def model_of(self, role: str) -> str:
        """The model that a role is configured with."""
        return self._models[role].model

    def totals(self) -> Totals:
        """What the run's calls came to."""
        return self.ledger.totals()

    def limit(self) -> str:
        """The limit of money or tokens that is reached, as a run's ending; "" when none is."""
        if self._ledger is None or not (self._budget.cost_usd or self._budget.tokens):
            return ""
        with self._lock:
            calls = [c for c in self._ledger.calls if c.state == "answered"]
        if self._budget.cost_usd and sum(c.cost_usd or 0.0 for c in calls) >= self._budget.cost_usd:
            return "budget: money"
        used = sum(c.tokens if c.input_tokens is not None else _guess(c) for c in calls)
        return "budget: tokens" if self._budget.tokens and used >= self._budget.tokens else ""

    def ask(self, call: Call, messages: Sequence[Message]) -> Answer:
        """The answer to a question: the written one of its slot, else a new one.

        Raises:
            LimitReached: a limit, the end of the run's time, or the user's wish to stop.
            ModelError: no answer could be had; the run can be resumed.
        """
        with self._lock:
            written = self.ledger.find(call.slot)
            if written is not None and written.state == "answered":
                return Answer(written.reply, written.finish, model=written.answered_by)
            if ending := self.limit():
                raise LimitReached(ending)
            record = self._record(call, messages, written)
            self._write(record)
        return self._answered(record, messages)

    def tell(self, message: str) -> None:
        """Tell the run's story what is done."""
        self._bound().emit("model", message)

    def warn(self, message: str) -> None:
        """Tell the run's story that something did not go as it should."""
        self._bound().emit("warning", message)

    def note_problem(self, call: Call, problem: str) -> None:
        """Write down why an answer could not be used."""
        written = self.ledger.find(call.slot)
        if written is not None and written.problem != problem:
            self._write(written.model_copy(update={"problem": self._clean(problem, call.role)}))

    def _record(self, call: Call, messages: Sequence[Message], written: CallRecord | None) -> CallRecord:
        plain = [{"role": m.role, "content": self._clean(m.text, call.role)} for m in messages]
        return CallRecord(
            number=written.number if written is not None else self.ledger.next_number(),
            model=self.model_of(call.role),
            prompt_hash=messages_hash(plain),
            messages=tuple(plain) if self.options.store_prompts else (),
            prompt_tokens_estimated=sum(tokens_of(m.text) for m in messages),
            attempts=written.attempts if written is not None else (),
            asked_at=now(),
            **{k: getattr(call, k) for k in Call.__dataclass_fields__},
        )

    def _answered(self, record: CallRecord, messages: Sequence[Message]) -> Answer:
        """Try until there is an answer, no try helps, or the time is over."""
        run = self._bound()
        began = self._clock()
        tries = 0
        while True:
            try:
                answer = self._try(record, messages)
                break
            except ModelFault as fault:
                told = self._clean(fault.message, record.role)
                record = record.model_copy(update={"attempts": (*record.attempts, f"{fault.kind}: {told}")})
                tries += 1
                if fault.kind == "stopped" or run.stopped():
                    self._give_up(record, began)
                    raise LimitReached("interrupted") from None
                if run.left_s() <= 0:
                    self._give_up(record, began)
                    raise LimitReached("budget: time") from None
                if not fault.again or tries > self.options.retries:
                    self._give_up(record, began)
                    raise self._error(record, fault, tries) from None
                self._write(record)
                run.emit("warning", f"{record.model}: {told}; trying again ({tries} of {self.options.retries})")
                self._pause(tries, fault.wait_s)
        return self._keep(record, answer, self._clock() - began)

    def _try(self, record: CallRecord, messages: Sequence[Message]) -> Answer:
        run, chosen = self._bound(), self._models[record.role]
        left = max(0.1, run.left_s())
        arriving = Arriving(chosen.provider.secrets(), partial(self._show, record))
        question = Question(
            messages=messages,
            max_tokens=self.options.max_output_tokens,
            temperature=self.options.temperature,
            timeout_s=left if chosen.provider.waits_for_people else min(self.options.timeout_s, left),
            name=f"{run.run_id}.{record.number:04d}.{record.role}",
            stopped=run.stopped,
            heard=arriving.hear,
        )
        run.emit("model", f"{record.role}: asking {record.model}", role=record.role, call=record.number)
        if chosen.provider.waits_for_people:
            return chosen.provider.ask(question)  # it looks at `stopped` itself
        try:
            return _watched(chosen.provider, question, arriving.look)
        finally:
            self._show(record, 0, "")

    def _show(self, record: CallRecord, characters: int, line: str) -> None:
        """Show those who watch what has arrived of an answer; 0 characters: it is no longer arriving."""
        tokens = tokens_so_far(characters) if characters else 0
        self._bound().show("stream", line, role=record.role, call=record.number, model=record.model, tokens=tokens)

    def _keep(self, record: CallRecord, answer: Answer, seconds: float) -> Answer:
        """Write the answer down; only then may anyone use it."""
        price = self._prices.find(record.model) or self._prices.find(answer.model)
        text = self._clean(answer.text.encode("utf-8", "replace").decode("utf-8"), record.role)
        record = record.model_copy(
            update={
                "state": "answered",
                "reply": text,
                "finish": answer.finish,
                "answered_by": answer.model,
                "input_tokens": answer.usage.input_tokens,
                "output_tokens": answer.usage.output_tokens,
                "cached_tokens": answer.usage.cached_tokens,
                "cost_usd": price.cost_usd(answer.usage) if price is not None else None,
                "price_source": price.source if price is not None else "unknown",
                "seconds": round(record.seconds + seconds, 3),
                "answered_at": now(),
            }
        )
        self._write(record)
        self._bound().emit(
            "model",
            f"{record.role}: answered by {answer.model or record.model}",
            role=record.role,
            call=record.number,
            tokens=record.tokens,
            cost_usd=record.cost_usd,
            seconds=record.seconds,
        )
        return replace(answer, text=text)

    def _give_up(self, record: CallRecord, began: float) -> None:
        seconds = round(record.seconds + self._clock() - began, 3)
        self._write(record.model_copy(update={"state": "failed", "seconds": seconds}))

    def _error(self, record: CallRecord, fault: ModelFault, tries: int) -> ModelError:
        often = f" ({tries} tries)" if tries > 1 else ""
        hint = fault.hint or "see the run's calls/"
        return ModelError(
            f"the {record.role}'s model {record.model}{often}: {self._clean(fault.message, record.role)}",
            hint=f"{hint}; `kernelwright resume` goes on from here",
        )

    def _pause(self, tries: int, wait_s: float | None) -> None:
        """Wait before the next try, in small steps so that Ctrl-C is heard."""
        run = self._bound()
        pause = wait_s if wait_s is not None else min(LONGEST_PAUSE_S, self.options.retry_pause_s * 2 ** (tries - 1))
        until = self._clock() + min(pause, max(0.0, run.left_s()))
        while (left := until - self._clock()) > 0 and not run.stopped():
            self._sleep(min(left, 0.2))

    def _write(self, record: CallRecord) -> None:
        with self._lock, disk_errors(self.ledger.folder):
            self.ledger.write(record)

    def _clean(self, text: str, role: str) -> str:
        return without_secrets(text, self._models[role].provider.secrets())

    def _bound(self) -> RunLink:
        assert self._run is not None, "bind() comes first"
        return self._run


def _watched(provider: Provider, question: Question, look: Callable[[], None]) -> Answer:
    """Ask in a thread, so that Ctrl-C and the time limit are heard while the wire is silent.

    Args:
        provider: who is asked.
        question: what.
        look: called all the while, to show what has arrived.

    Raises:
        ModelFault: the provider's; ``stopped``; ``timeout`` when an answer trickles in for ever.
    """
    came: list[Answer | BaseException] = []

    def ask() -> None:
        try:
            came.append(provider.ask(question))
        except BaseException as error:  # raised again below, in the thread that asked
            came.append(error)

    worker = threading.Thread(target=ask, name="model", daemon=True)
    worker.start()
    until = time.monotonic() + question.timeout_s + GRACE_S
    while worker.is_alive():
        worker.join(0.1)
        look()
        if worker.is_alive() and question.stopped():
            raise ModelFault("stopped", "interrupted while waiting for an answer", again=False)
        if worker.is_alive() and time.monotonic() > until:
            raise ModelFault("timeout", f"the answer was not finished within {question.timeout_s:.0f} s", again=True)
    (result,) = came
    if isinstance(result, BaseException):
        raise result
    return result


def _guess(call: CallRecord) -> int:
    """Tokens of a call whose provider does not count them."""
    return call.prompt_tokens_estimated + tokens_of(call.reply)
