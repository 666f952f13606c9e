"""A task's policy on own kernels: does the candidate do the work itself, or does a library do it?

Owns the verdict POLICY and what an Evaluation states about it. What a module calls is seen in its worker
(workers/policy_log.py); what a shared library imports is read off its symbol table here. The log can be looked for by a
candidate, so it only refuses; what speaks for a candidate is that it gets nothing right while its kernels are failed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelwright.records import Candidate, Entry, Failure, Status
from kernelwright.toolexec.judge.cases import Tally, check_outputs
from kernelwright.toolexec.judge.contestant import Contestant
from kernelwright.toolexec.judge.elf import Symbols, read_symbols
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.languages.gpu_language import has_host_code

if TYPE_CHECKING:
    from kernelwright.toolexec.judge.judgement import Bench

Host = Callable[[Mapping[str, Any]], AbstractContextManager[tuple[Contestant, float | None]]]
"""Loads the candidate in a fresh process, with options of the judge's."""
LIBRARY_SHARE = 0.10
"""Of the task's arithmetic: so much may be left to operators of libraries."""
LIBRARY_SYMBOL = re.compile(
    r"(cblas|mkl|dnnl|openblas|lapacke?|cublas|cudnn|cusparse|cufft|rocblas|hipblas|miopen)[_A-Z]|^[sdcz]g?emm_|^[sdcz]gemv_"
    r"|^_ZNK?[0-9]+(at|c10|torch|dnnl|onednn)[0-9N]|^_ZNK?(2at|3c10|5torch|4dnnl)"
)
OPENS_LIBRARIES = (
    "dlopen", "dlmopen", "dlsym", "dlvsym", "__libc_dlopen_mode", "__libc_dlsym", "dl_iterate_phdr", "_r_debug",
    "dladdr", "dladdr1", "dlinfo", "_dl_find_object", "_rtld_global", "_rtld_global_ro",
)  # fmt: skip
INTERPRETER = re.compile(r"_?Py[A-Z_]")
"""Python's own functions, which are in every worker: through them any library can be had."""
SYSTEM = re.compile(
    r"(lib(c|m|mvec|dl|rt|pthread|stdc\+\+|gcc_s|gomp|omp|iomp5|c\+\+|c\+\+abi|unwind|atomic)|ld-linux.*)\.so.*"
)
"""What any C++ library needs."""
DRIVER = re.compile(r"lib(cuda|cudart)\.so.*")
"""What host code of a GPU kernel is linked to."""
MAX_NAMED = 4


def check_policy(bench: Bench, candidate: Candidate, artifact: Path, host: Host) -> list[str]:
    """Hold a candidate to a task that wants a kernel of its own.

    Returns:
        What the Evaluation has to state.

    Raises:
        Rejection: POLICY.
    """
    if candidate.entry is Entry.PIPELINE:
        return ["own kernel: generated from the schedule"]
    if candidate.entry is Entry.C and (artifact / "build.json").exists():
        return check_gpu_build(bench, candidate, artifact)
    if candidate.entry is Entry.C:
        return check_library(bench.workload, read_symbols(artifact))
    return check_module(bench, host)


def check_gpu_build(bench: Bench, candidate: Candidate, artifact: Path) -> list[str]:
    """A cubin calls nothing. Host code may need CUDA's runtime, which opens the driver itself, and nothing beside."""
    if not has_host_code(candidate):
        return ["own kernel: a cubin calls no library"]
    symbols = read_symbols(artifact / "kernel.so")
    foreign = [name for name in symbols.needed if not (SYSTEM.fullmatch(name) or DRIVER.fullmatch(name))]
    borrowed = [name for name in symbols.undefined if LIBRARY_SYMBOL.search(name)]
    if foreign or borrowed:
        raise refused(bench.workload, f"the work is left to a library: {named([*foreign, *borrowed])}")
    return ["own kernel: its library is linked to none but CUDA's; whether it opens one while it runs is not seen"]


def check_library(workload: str, symbols: Symbols) -> list[str]:
    """A shared library may need the C and C++ runtime and nothing else."""
    foreign = [name for name in symbols.needed if not SYSTEM.fullmatch(name)]
    borrowed = [name for name in symbols.undefined if LIBRARY_SYMBOL.search(name)]
    opens = [name for name in symbols.undefined if name.partition("@")[0] in OPENS_LIBRARIES or INTERPRETER.match(name)]
    if foreign or borrowed:
        raise refused(workload, f"the work is left to a library: {named([*foreign, *borrowed])}")
    if opens:
        raise refused(workload, f"it opens libraries while it runs ({named(opens)}): whose work it is cannot be told")
    return ["own kernel: its library imports nothing but the C and C++ runtime"]


def check_module(bench: Bench, host: Host) -> list[str]:
    """A module may leave at most LIBRARY_SHARE of the arithmetic to operators, and its own kernels must matter."""
    with host({"observe": True}) as (contestant, _):
        contestant.ensure_slots(4)
        try:
            alone = answers(contestant, bench, 3)  # first: later it could remember that it was watched
            right = answers(contestant, bench, 0)
            seen = contestant.observed()
        except WorkerFailure as failure:
            message = f"it fails while its calls are observed, whose work it is cannot be told: {failure.message}"
            raise refused(bench.workload, message) from failure
        notes = weigh(bench, seen)
        if not (right and alone):
            raise refused(bench.workload, "it gives another result while its calls are observed")
        for slot, what in ((1, "fail"), (2, "do nothing")) if seen["own"] else ():
            if still_right(contestant, bench, slot):
                kernels, others = named(seen["own"]), named(seen["operators"]) or "other means"
                message = f"with its own kernels made to {what} ({kernels}) it still answers right, by {others}"
                raise refused(bench.workload, message)
    return notes


def weigh(bench: Bench, seen: Mapping[str, Any]) -> list[str]:
    """The share of libraries in the arithmetic.

    Raises:
        Rejection: POLICY, where it is too large or nothing of its own was called.
    """
    operators: Mapping[str, Mapping[str, Any]] = seen["operators"]
    share, most = arithmetic(bench, operators)
    unseen, dearest = arithmetic(bench, seen["below"])
    if seen["libraries"]:
        raise refused(bench.workload, f"the work is left to a library: {named(seen['libraries'])}")
    if seen["compiled_graphs"]:
        raise refused(bench.workload, "torch.compile writes its kernel")
    if not seen["own"]:
        by = named(most) or "what cannot be seen"
        raise refused(bench.workload, f"no kernel of its own was called, the work is done by {by}")
    if share >= LIBRARY_SHARE:
        message = f"operators of libraries do {100 * min(share, 1.0):.0f} % of the arithmetic: {named(most)}"
        raise refused(bench.workload, message)
    if unseen >= LIBRARY_SHARE:
        part = f"{100 * min(unseen, 1.0):.0f} % of the arithmetic"
        raise refused(bench.workload, f"where no log shows it, operators of libraries do {part}: {named(dearest)}")
    if not operators:
        return [f"own kernel: {named(seen['own'])}"]
    return [f"own kernel: {named(seen['own'])}; {100 * share:.1f} % of the arithmetic by operators: {named(most)}"]


def arithmetic(bench: Bench, operators: Mapping[str, Mapping[str, Any]]) -> tuple[float, list[str]]:
    """The operators' share of the task's arithmetic, and their names, the dearest first."""
    work = sum(int(noted["flops"]) for noted in operators.values())
    sizes = [*bench.described.inputs, *bench.described.outputs]
    total = bench.described.facts.flops or sum(int(np.prod(t.shape, dtype=np.int64)) for t in sizes)
    return work / max(total, 1), sorted(operators, key=lambda name: -int(operators[name]["flops"]))


def still_right(contestant: Contestant, bench: Bench, slot: int) -> bool:
    """Does it answer right in a slot in which its own kernels are sabotaged?"""
    try:
        return answers(contestant, bench, slot)
    except WorkerFailure:
        return False


def answers(contestant: Contestant, bench: Bench, slot: int) -> bool:
    """Run one slot on a case of its own; is the result right?"""
    case = bench.book.cases(("as-is",), None, fresh=True)[0]
    contestant.arm([slot], 0xFF)
    contestant.fill(slot, case.inputs)
    contestant.go()
    outputs = contestant.collect([slot])[0]
    try:
        check_outputs(outputs, case.expected, bench.book, family=case.family, tally=Tally(), inputs=case.inputs)
    except Rejection:
        return False
    return True


def named(names: Mapping[str, Any] | list[str]) -> str:
    """The first few of them, in words."""
    listed = list(names)
    more = f" and {len(listed) - MAX_NAMED} more" if len(listed) > MAX_NAMED else ""
    return ", ".join(re.sub(r"[^\x20-\x7e]", "", str(n))[:80] for n in listed[:MAX_NAMED]) + more


def refused(workload: str, message: str) -> Rejection:
    """The verdict."""
    text = f"this task wants a kernel of the candidate's own: {message}"
    return Rejection(Status.POLICY, Failure(check="own kernel", message=text, workload=workload))
