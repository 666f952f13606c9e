"""What a look at the sources shows. Advice for people; never the gate.

Owns a few patterns that deserve a reader's attention. It decides nothing: processes and bytes do.
"""

from __future__ import annotations

import re

from kernelwright.records import Candidate, KernelPolicy

PATTERNS: tuple[tuple[str, str], ...] = (
    (r"\b(exec|eval)\s*\(", "runs generated code"),
    (r"\b(fork|vfork|clone|posix_spawn|system|popen)\s*\(|subprocess|multiprocessing", "starts processes"),
    (r"\b(mprotect|ptrace|process_vm_writev)\b|/proc/self", "touches its own process image"),
    (r"std::thread|pthread_create|threading\.Thread", "starts threads of its own"),
    (r"\b(fopen|ifstream|open)\s*\(", "opens files"),
    (r"\b(socket|urllib|requests)\b", "uses the network"),
    (r"\b(gc\.get_objects|sys\._getframe|inspect\.stack|sys\.modules)\b", "looks around in its process"),
    (r"\b(bfloat16|float16|half)\b", "mentions a lower precision"),
    (r"except[^\n]*:\s*\n\s*(return|pass)", "falls back silently"),
    (r"\btorch\.compile\b", "lets torch.compile write its kernel"),
    (r"\b(dlopen|dlsym|LoadLibrary)\b", "opens libraries while it runs"),
)
OWN_KERNEL_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"^\s*(import|from)\s+(numpy|scipy|numba)\b", "may compute by a package whose calls nobody logs"),
)
"""What to look at where a task asks for a kernel of one's own."""


def scan(candidate: Candidate, policy: KernelPolicy) -> tuple[str, ...]:
    """Notes on a candidate's sources, one a finding: ``file:line: what``."""
    notes = []
    patterns = (*PATTERNS, *OWN_KERNEL_PATTERNS) if policy.own_kernel else PATTERNS
    for file in candidate.files:
        for pattern, what in patterns:
            found = re.search(pattern, file.text, re.MULTILINE)
            if found:
                line = file.text.count("\n", 0, found.start()) + 1
                notes.append(f"{file.path}:{line}: {what}")
    return tuple(notes)
