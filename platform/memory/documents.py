"""What of an entry is searched: the text that is embedded, the words that are matched, the fields that are filtered.

Owns the choice; it is one place because the figures of retrieval hang on it. Raw code is never embedded (it found the
right kernel for 9 of 25 queries, a description for 21); its identifiers are matched as words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from kernelwright.memory.concepts import concepts_of_entry
from kernelwright.memory.lexical import words
from kernelwright.memory.operators import canonical, names
from kernelwright.records import Entry, LanguageName, Solution
from kernelwright.records.record import content_hash

GPU_LANGUAGES = frozenset(
    {
        LanguageName.CUDA,
        LanguageName.CUTE,
        LanguageName.CUTE_DSL,
        LanguageName.THUNDERKITTENS,
        LanguageName.TRITON,
        LanguageName.TILELANG,
    }
)
_SPOKEN = {"cpp": "C++ CPU", "halide": "Halide schedule", "cute": "CUTLASS CuTe GPU", "cute_dsl": "CuTe DSL Python GPU",
           "cuda": "CUDA GPU", "thunderkittens": "ThunderKittens GPU", "triton": "Triton GPU", "torch": "PyTorch",
           "tilelang": "TileLang GPU"}  # fmt: skip
"""How people call a language and where it runs."""
MOST_IDENTIFIERS = 300
"""Of one entry's code; what comes after is rarely what somebody searches for."""


@dataclass(frozen=True)
class Document:
    """One entry as the index holds it."""

    key: str
    """``solution:<id>`` or ``technique:<id>``."""
    text: str
    """Embedded: what it computes, in the words of people and of torch."""
    names: str
    """Words of title, operators and techniques; matched with the greatest weight."""
    body: str
    """Words of descriptions and rungs."""
    code: str
    """Identifiers of the sources."""
    ops: tuple[str, ...] = ()
    """Canonical operators."""
    concepts: tuple[str, ...] = ()
    """What kind of work it is, see ``concepts.py``."""
    fields: dict[str, Any] = field(default_factory=dict)
    """What is filtered: family, language, device, architecture, state, dtypes, bottlenecks, task, techniques."""

    @property
    def kind(self) -> str:
        """solution or technique."""
        return self.key.partition(":")[0]

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.key.partition(":")[2]

    @property
    def hash(self) -> str:
        """Of everything above: equal means that nothing has to be indexed anew."""
        words = [self.text, self.names, self.body, self.code, list(self.ops), list(self.concepts)]
        return content_hash([*words, self.fields])

    @property
    def text_hash(self) -> str:
        """Of what is embedded: equal means that the vector stands."""
        return content_hash(self.text)


def solution_document(solution: Solution) -> Document:
    """A solution as the index holds it. Neither its id nor its task's name can be found: they rank nothing."""
    rungs = solution.rungs
    forms = [solution.applies.get("ops", ()), *(solution.applies.get("ops_any") or ())]
    ops = sorted(names(op for form in forms for op in ([form] if isinstance(form, str) else form)))
    aliases = sorted(names(solution.torch_ops))
    spoken = _SPOKEN.get(solution.language.value, solution.language.value)
    techniques = list(dict.fromkeys(r.decision.technique for r in rungs))
    return Document(
        key=f"solution:{solution.id}",
        text=f"{solution.title}. {solution.description} {', '.join(solution.torch_ops)}. {solution.family}, {spoken}",
        names=_joined(solution.title, solution.family, *solution.torch_ops, spoken, *techniques),
        body=_joined(solution.description, *(r.decision.summary for r in rungs)),
        code=_identifiers(solution),
        ops=tuple(dict.fromkeys([*ops, *aliases])),
        concepts=tuple(sorted(concepts_of_entry(solution.title, solution.torch_ops))),
        fields={
            "family": solution.family,
            "language": solution.language.value,
            "device": device_of(solution),
            "architecture": solution.architecture,
            "state": solution.review.state.value,
            "origin": solution.origin,
            "dtypes": list(solution.dtypes),
            "bottlenecks": sorted({r.decision.bottleneck for r in rungs} - {""}),
            "techniques": techniques,
            "task": solution.task,
            "title": solution.title,
            "licence": solution.licence,
            "measured": any(r.latency_us for r in rungs),
            "rungs": len(rungs),
        },
    )


def device_of(solution: Solution) -> str:
    """Kind of device that an entry is for: cuda or cpu."""
    on_gpu = solution.language in GPU_LANGUAGES or solution.architecture.startswith("sm_")
    return "cuda" if on_gpu else "cpu"


def named_operators(text: str) -> tuple[str, ...]:
    """Canonical operators that a text or torch code calls by name: ``F.avg_pool2d(x)`` and ``nn.Conv2d`` are found."""
    called = re.findall(r"(?:torch|nn|F|functional|aten|ops)\.((?:\w+\.)*\w+)", text)
    called += re.findall(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b", text)
    called += re.findall(r"\.([a-z_0-9]+)\(", text)
    return tuple(sorted({canonical(c) for c in called}))


def _joined(*texts: str) -> str:
    return " ".join(word for text in texts for word in words(text))


def _identifiers(solution: Solution) -> str:
    if solution.entry is Entry.PIPELINE:
        return _joined(*(str(d) for r in solution.rungs[-1:] for d in r.decision.directives))
    found: dict[str, None] = {}
    for file in solution.rungs[-1].candidate.files:
        code = re.sub(r"//.*|#(?!include|define|pragma).*", " ", file.text)
        found.update(dict.fromkeys(words(code)))
    return " ".join(list(found)[:MOST_IDENTIFIERS])
