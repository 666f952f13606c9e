"""What no lesson and no prompt may say: orders to the model, code, task data, tricks on the judge.

Owns the refusals and their words. It reads texts only; whether a lesson is *true* is not its business.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from kernelwright.records import Lesson, Task

MAX_SENTENCE = 600
"""Characters of a lesson's when, do or avoid; a lesson is a sentence or two."""
MAX_PROMPT = 40_000
"""Characters of a base text."""
SHARED_WORDS = 9
"""A run of so many words in common with a task's text counts as copied."""

_RULES: tuple[tuple[str, str], ...] = (
    (
        "asks the model to give away or use secrets",
        r"\b(api[ _-]?keys?|passwords?|secrets?|credentials?|access tokens?|environment variables?|os\.environ|getenv|"
        r"\.env\b|sk-[a-z0-9]{8,}|id_rsa|(print|show|reveal|send|output)\s+(me\s+)?(your|the)\s+"
        r"(key|token|prompt|system)s?|your\s+(instructions|rules)\b)|"
        r"(?-i:[A-Z0-9]+_(API_)?(KEY|TOKEN|SECRET|PASSWORD)\b)|\.ssh\b|/etc/passwd",
    ),
    (
        "gives orders over the head of the prompt",
        r"\b((ignore|disregard|forget|override)\b.{0,40}\b(instructions?|prompts?|rules|above|previous|prior)|"
        r"system prompt|you are now|new instructions?|act as|jailbreak|<\|?(im_start|system|assistant|user)\b)",
    ),
    (
        "asks to run commands or reach the network",
        r"(https?://|\bcurl\b|\bwget\b|\brm -rf\b|\bsudo\b|\bsubprocess\b|\bos\.system\b|\beval\(|\bexec\(|\bsocket\b)",
    ),
    (
        "games the judge",
        r"\b((return|call|reuse|wrap|import)\s+(the\s+)?(reference|baseline|original model|expected (output|result)s?)|"
        r"(cache|memoi[sz]e|remember|precompute|hard-?code)\s+(the\s+|all\s+)?(outputs?|results?|answers?|expected)|"
        r"(detect|check for|notice)\b.{0,30}\b(judge|benchmark|timing|timer|harness|being (timed|measured|tested))|"
        r"(skip|disable|bypass|avoid)\s+(the\s+)?(checks?|verification|validation|tests?|judge)|"
        r"monkey-?patch|patch\s+(the\s+)?(timer|clock|judge)|"
        r"(fake|return zeros?|return empty|do nothing))",
    ),
)  # fmt: skip
_PATTERNS = [(why, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for why, pattern in _RULES]
_CODE = re.compile(
    r"(```|^\s*(def|class|import|from|for|return|#include|template|__global__)\b.*[:;({]\s*$|"
    r"[;{}]\s*$|\w+\s*\[[^\]]*\]\s*=[^=]|#pragma|->\s*\w+\s*:)",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z0-9_]+")
_EVERYTHING = re.compile(
    r"\b(any|every|all)\s+(kinds?\s+of\s+)?(kernels?|tasks?|programs?|devices?|machines?)\b"
    r"|^\s*always\b|\b(everywhere|in general|in (all|every) cases?|no matter what)\b",
    re.IGNORECASE,
)


def text_complaints(text: str, *, limit: int = MAX_SENTENCE) -> list[str]:
    """Why a text may not be shown to a model; [] when it may.

    Args:
        text: a part of a lesson or a prompt's base text.
        limit: characters it may have.
    """
    folded = _folded(text)
    found = [f"{why} ({_quoted(match)})" for why, pattern in _PATTERNS if (match := pattern.search(folded))]
    if len(text) > limit:
        found.append(f"{len(text)} characters are more than {limit}")
    odd = (c for c in set(text) if unicodedata.category(c) in ("Cf", "Co", "Cn") or c == "\x1b")
    hidden = sorted(f"U+{ord(c):04X}" for c in odd)
    if hidden:
        found.append(f"holds invisible characters ({', '.join(hidden[:4])})")
    return found


def complaints(lesson: Lesson) -> list[str]:
    """Why a lesson may not be used, whatever its evidence; [] when it may."""
    parts = {"when": lesson.when, "do": lesson.do, "avoid": lesson.avoid}
    found = [f"field {name}: {why}" for name, text in parts.items() for why in text_complaints(text)]
    found += [f"field {name}: holds code" for name, text in parts.items() if _CODE.search(text)]
    return found


def lesson_refusals(lesson: Lesson, tasks: Iterable[Task] = ()) -> list[str]:
    """Why a distiller's proposal is refused: what :func:`complaints` finds, copied task data, too general, unsupported.

    Args:
        lesson: with the decisions it claims to rest on.
        tasks: whose texts it may not copy.
    """
    found = complaints(lesson)
    if not lesson.evidence.trials:
        found.append("rests on no decision that exists")
    if lesson.scope.conditions == 0:
        found.append("over-general: its scope says neither family, bottleneck, language nor device")
    if claim := _EVERYTHING.search(lesson.when):
        found.append(f"over-general: it says that it holds for everything ({_quoted(claim)})")
    for task in tasks:
        found += [f"{why} of task {task.name}" for why in copied_from(lesson.sentence, task)]
    return found


def prompt_refusals(text: str, *, parent: str, tasks: Sequence[Task] = (), finish: str = "stop") -> list[str]:
    """Why a proposed base text is rejected unpaid: empty, truncated, leaking or gaming.

    Args:
        text: the proposal.
        parent: the text it would replace; a proposal of the same words is none.
        tasks: whose texts it may not copy.
        finish: the model's finish reason; ``length`` means the answer was cut off.
    """
    if len(text.split()) < 5:
        return ["empty: fewer than five words"]
    found = text_complaints(text, limit=MAX_PROMPT)
    if finish == "length" or not re.search(r"[.!?:;)\]}`*|>-]\s*$", text.strip()) or text.count("```") % 2:
        found.append("truncated: it ends within a sentence")
    if text.split() == parent.split():
        found.append("says nothing new")
    for task in tasks:
        found += [f"{why} of task {task.name}" for why in copied_from(text, task)]
    return found


def copied_from(text: str, task: Task) -> list[str]:
    """What a text copies from a task: its words in a row, or its name."""
    found = []
    telling = len(task.name) > 5 and re.search(r"[_\-\d]", task.name)  # "softmax" is a word of the trade
    if telling and re.search(rf"\b{re.escape(task.name)}\b", text):
        found.append("names it: copies the name")
    words = _WORD.findall(text.lower())
    runs = {tuple(words[i : i + SHARED_WORDS]) for i in range(len(words) - SHARED_WORDS + 1)}
    for what, source in (("reference", task.reference), ("description", task.description)):
        theirs = _WORD.findall(source.lower())
        if any(tuple(theirs[i : i + SHARED_WORDS]) in runs for i in range(len(theirs) - SHARED_WORDS + 1)):
            found.append(f"copies {SHARED_WORDS} words in a row from the {what}")
    return found


def _folded(text: str) -> str:
    """Compatibility forms and invisible characters undone, white space single: what a disguise leaves."""
    plain = text
    if not text.isascii():
        plain = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return re.sub(r"\s+", " ", plain)


def _quoted(match: re.Match[str]) -> str:
    return repr(match.group(0)[:40])
