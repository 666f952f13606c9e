"""The roles as DSPy programs: typed signatures, an adapter that writes and reads Markdown, an engine over the desk.

Importing this file loads dspy; it is imported when a model is first asked. Instructions are never in the signatures:
they come from a PromptVersion with every call.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else an import somewhere below fetches a price list

import dspy  # noqa: E402
from dspy import lm15  # noqa: E402
from dspy.utils.exceptions import AdapterParseError  # noqa: E402

from kernelwright.agents.llm.desk import Call, LimitReached, ModelDesk  # noqa: E402
from kernelwright.agents.llm.drafts import (  # noqa: E402
    CodeDraft,
    DecisionDraft,
    ReflectionDraft,
    read_decisions,
    read_reflection,
)
from kernelwright.agents.llm.exchange import Answer, BadAnswer, Message  # noqa: E402
from kernelwright.agents.llm.parsing import parse_code, parse_json  # noqa: E402
from kernelwright.errors import KernelwrightError  # noqa: E402

dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)  # calls/ is the only memory of answers


class Plan(dspy.Signature):
    """What to try next."""

    task: str = dspy.InputField(desc="The task")
    machine: str = dspy.InputField(desc="The machine")
    baselines: str = dspy.InputField(desc="Baselines, measured here")
    best: str = dspy.InputField(desc="The best so far")
    parents: str = dspy.InputField(desc="Candidates to start from")
    profile: str = dspy.InputField(desc="Profile of the best")
    precedents: str = dspy.InputField(desc="Recalled solutions")
    evidence: str = dspy.InputField(desc="What techniques bought on similar tasks")
    tried: str = dspy.InputField(desc="Tried in this run")
    wishes: str = dspy.InputField(desc="Wishes of the user")
    asked: str = dspy.InputField(desc="What is asked for")
    problem: str = dspy.InputField(desc="Your last answer could not be used")
    last: str = dspy.InputField(desc="Your last answer")
    dropped: str = dspy.InputField(desc="Left out")
    decisions: list[DecisionDraft] = dspy.OutputField(desc="decisions, best first")


class Write(dspy.Signature):
    """A decision made into a kernel."""

    task: str = dspy.InputField(desc="The task")
    interface: str = dspy.InputField(desc="Tensors at the kernel's border")
    machine: str = dspy.InputField(desc="The machine")
    guide: str = dspy.InputField(desc="How a candidate is written")
    decision: str = dspy.InputField(desc="The decision to carry out")
    parent: str = dspy.InputField(desc="Sources to start from")
    profile: str = dspy.InputField(desc="Profile of what it starts from")
    named: str = dspy.InputField(desc="Other candidates that the decision names")
    exemplars: str = dspy.InputField(desc="Exemplars")
    wishes: str = dspy.InputField(desc="Wishes of the user")
    failure: str = dspy.InputField(desc="What the judge found")
    problem: str = dspy.InputField(desc="Your last answer could not be used")
    last: str = dspy.InputField(desc="Your last answer")
    dropped: str = dspy.InputField(desc="Left out")
    code: CodeDraft = dspy.OutputField(desc="files or edits")


class Reflect(dspy.Signature):
    """What a round taught."""

    task: str = dspy.InputField(desc="The task")
    outcomes: str = dspy.InputField(desc="Prediction against measurement")
    profile: str = dspy.InputField(desc="Profile of the best")
    tried: str = dspy.InputField(desc="Tried before")
    problem: str = dspy.InputField(desc="Your last answer could not be used")
    last: str = dspy.InputField(desc="Your last answer")
    dropped: str = dspy.InputField(desc="Left out")
    reflection: ReflectionDraft = dspy.OutputField(desc="what was learned and the next move")


FORMS: dict[str, str] = {
    "decisions": """## Form of the answer
One fenced `json` block with a list, best first:
```json
[{"technique": "short-name", "summary": "what is done, one sentence", "where": "part of the kernel",
  "parameters": {"TILE": 32}, "bottleneck": "memory|compute|latency|overhead|parallelism",
  "evidence": "the number above that shows it", "hypothesis": "why it helps", "predicted_speedup": 1.4,
  "language": "cpp", "start_from": "reference | candidate id | solution:ID#RUNG"}]
```""",
    "code": """## Form of the answer
Either every file whole, each under a heading with its name:

### FILE: kernel.cpp
```cpp
...
```

or, when sources to start from are given, edits of them as they are shown; each passage is copied exactly, occurs once
in its file, and is best made of whole lines (several edits may follow each other under one heading):

### EDIT: kernel.cpp
<<<<<<< SEARCH
old lines
=======
new lines
>>>>>>> REPLACE

Plain file names only. Declare tunables in comments: `// tunable TILE = 16 in {8, 16, 32}` (`#` in Python), and
compiler flags as `// flags: -ffast-math`.""",
    "reflection": """## Form of the answer
One fenced `json` block:
```json
{"decisions": [{"decision": "id", "learned": "why it did or did not do what was expected, one sentence"}],
 "next_move": "what to try next and why, one sentence", "go_on": true}
```""",
}
"""Output field -> how an answer has to look. Part of the adapter, not of the instructions: it follows the parser."""


class MarkdownAdapter(dspy.Adapter):  # type: ignore[misc]
    """Instructions as the system's message, the filled input fields as titled Markdown sections."""

    def format(self, signature: Any, demos: list[dict[str, Any]], inputs: dict[str, Any]) -> list[dict[str, Any]]:
        """The two messages of a call."""
        (output,) = signature.output_fields
        parts = []
        for name, field in signature.input_fields.items():
            if text := str(inputs.get(name) or "").strip("\n"):
                parts.append(f"## {field.json_schema_extra['desc']}\n\n{text}")
        system = f"{signature.instructions}\n\n{FORMS[output]}"
        return [{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(parts)}]

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """The output field, read by our own parsers.

        Raises:
            AdapterParseError: it cannot be read; its message is what the model is told.
        """
        (output,) = signature.output_fields
        try:
            if output == "decisions":
                return {output: read_decisions(parse_json(completion))}
            if output == "reflection":
                return {output: read_reflection(parse_json(completion))}
            return {output: CodeDraft(parsed=parse_code(completion))}
        except BadAnswer as error:
            raise AdapterParseError(
                adapter_name="MarkdownAdapter", signature=signature, lm_response=completion, message=str(error)
            ) from error


class DeskEngine:
    """What stands behind dspy.LM here: one question over the desk.

    Args:
        desk: asks.
        call: what the question is for.
    """

    def __init__(self, desk: ModelDesk, call: Call) -> None:
        self._desk, self._call = desk, call
        self.answer: Answer | None = None

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Put the request to the role's model."""
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
        messages = [Message("system", system)] if system else []
        messages += [Message(m.role, m.text or "") for m in request.messages]
        answer = self.answer = self._desk.ask(self._call, messages)
        usage = lm15.Usage(input_tokens=answer.usage.input_tokens or 0, output_tokens=answer.usage.output_tokens or 0)
        reply = lm15.Message.assistant(answer.text or " ")
        return lm15.Response(id=None, model=answer.model or "unnamed", message=reply, finish_reason="stop", usage=usage)


def predict(signature: Any, instructions: str, inputs: Mapping[str, str], *, desk: ModelDesk, call: Call) -> Any:
    """Run one role's signature once.

    Args:
        signature: Plan, Write or Reflect.
        instructions: the prompt's text.
        inputs: input field -> text; fields that are missing are left out of the prompt.
        desk: the way to the model.
        call: what it is for.

    Returns:
        The output field's value.

    Raises:
        BadAnswer: empty, cut off, refused, or not of the asked form; the message is meant for the model.
        LimitReached: see :meth:`ModelDesk.ask`.
        ModelError: see :meth:`ModelDesk.ask`.
    """
    engine = DeskEngine(desk, call)
    lm = dspy.LM(f"kernelwright/{call.role}", engine=engine, cache=False, num_retries=0)
    program = dspy.Predict(_instructed(signature, instructions))
    given = {name: inputs.get(name, "") for name in signature.input_fields}
    try:
        with dspy.context(lm=lm, adapter=MarkdownAdapter(), disable_history=True, track_usage=False, trace=None):
            value = getattr(program(**given), next(iter(signature.output_fields)))
    except AdapterParseError as error:
        problem = _of_the_answer(engine.answer) or _told(error)
    except dspy.DSPyError as error:
        cause = error.__cause__
        if isinstance(cause, (KernelwrightError, LimitReached)):
            raise cause from None
        raise
    else:
        problem = _of_the_answer(engine.answer)
    if problem:
        desk.note_problem(call, problem)
        raise BadAnswer(problem)
    return value


@functools.lru_cache(maxsize=32)
def _instructed(signature: Any, instructions: str) -> Any:
    """A signature with its instructions: a class of its own, which takes tens of milliseconds to make."""
    return signature.with_instructions(instructions)


def _told(error: AdapterParseError) -> str:
    cause = error.__cause__
    return str(cause) if isinstance(cause, BadAnswer) else "The answer was empty."


def _of_the_answer(answer: Answer | None) -> str:
    """What is wrong with an answer before anyone reads it; "" when nothing is."""
    if answer is None:
        return ""
    if answer.finish == "length":
        return "The answer was cut off at the limit of output tokens. Answer shorter: no prose, edits, not whole files."
    if answer.finish in ("content_filter", "refusal"):
        return f"The request was not answered ({answer.finish}). It is about making a numeric kernel faster."
    return "" if answer.text.strip() else "The answer was empty."
