"""When two candidates are the same kernel: equal but for comments, blank space and the order of flags."""

from __future__ import annotations

import re

from kernelwright.records import Candidate, content_hash

_C_COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)

_C_WORDS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[\w.]+|[(){}\[\];,#]|[^\w\s(){}\[\];,#."\']+|\S')
"""Words of C: two operators apart stay two, so that ``a - -b`` is not ``a--b``."""


def fingerprint(candidate: Candidate) -> str:
    """A hash that comments, blank space and the order of flags do not change; declared tunables are part of it."""
    files = {f.path: _bare(f.text, python=f.path.endswith(".py")) for f in candidate.files}
    return content_hash(
        {
            "language": candidate.language.value,
            "files": files,
            "flags": sorted(candidate.flags),
            "architecture": candidate.architecture,
            "tunables": [t.model_dump(mode="json") for t in candidate.tunables],
        }
    )


def _bare(text: str, *, python: bool) -> str:
    if python:
        lines = [re.sub(r"(?<!\S)#[^\"'\n]*$", "", line).rstrip() for line in text.split("\n")]
        return "\n".join(line for line in lines if line.strip())
    text = _C_COMMENTS.sub(lambda m: m.group() if m.group()[0] in "\"'" else " ", text).replace("\\\n", " ")
    words: list[str] = []
    for line in text.split("\n"):
        words += ["\n" + " ".join(line.split()) + "\n"] if line.lstrip()[:1] == "#" else _C_WORDS.findall(line)
    return "\x1f".join(words)
