"""The filter's program, run by a small interpreter of its own: no kernel needed, both architectures."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.toolexec.sandbox import seccomp
from kernelwright.toolexec.sandbox.seccomp import ALLOW, KILL_PROCESS, NO_SUCH_CALL, PRETEND, REFUSE, Instruction

ARCHITECTURES = ("x86_64", "aarch64")
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def verdict(program: list[Instruction], architecture: int, number: int, *arguments: int) -> int:
    """What the kernel would answer to one call."""
    words = {seccomp.NUMBER_AT: number, seccomp.ARCH_AT: architecture}
    for i in range(6):
        value = (arguments[i] if i < len(arguments) else 0) & (2**64 - 1)
        words[seccomp.ARGUMENTS_AT + 8 * i] = value & 0xFFFFFFFF
        words[seccomp.ARGUMENTS_AT + 8 * i + 4] = value >> 32
    at, loaded = 0, 0
    while True:
        code, value, if_true, if_false = program[at]
        at += 1
        if code == seccomp.LOAD:
            loaded = words[value]
        elif code == seccomp.AND:
            loaded &= value
        elif code == seccomp.RETURN:
            return value
        else:
            tests = {
                seccomp.EQUAL: loaded == value,
                seccomp.GREATER_EQUAL: loaded >= value,
                seccomp.ANY_BIT: bool(loaded & value),
            }
            at += if_true if tests[code] else if_false


def ask(architecture: str, name: str, *arguments: int, **options: int) -> int:
    """The verdict on a call by name."""
    text = seccomp.TABLE + seccomp.MODES + seccomp.SIGNALS + seccomp.CHECKED
    number = seccomp.numbers(text, architecture)[name]
    program = seccomp.assemble(architecture, **options)
    return verdict(program, seccomp.AUDIT_ARCH[architecture], number, *arguments)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("ptrace", (), REFUSE),
        ("socket", (1,), REFUSE),
        ("clone", (0x3D0F00,), ALLOW),
        ("clone", (0x10000000 | 17,), REFUSE),
        ("clone3", (), NO_SUCH_CALL),
        ("prctl", (1, 0), PRETEND),
        ("prctl", (22, 2), REFUSE),
        ("prctl", (15,), ALLOW),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), REFUSE),
        ("fcntl", (3, 4), ALLOW),
        ("fcntl", (3, 8), REFUSE),
        ("prlimit64", (0, 7), ALLOW),
        ("prlimit64", (1234, 7), REFUSE),
        ("socketpair", (1, 1 | 0o2000000), ALLOW),
        ("socketpair", (1, 2 | 0o2000000), REFUSE),
        ("sendto", (3, 1, 1, 0, 0, 0), ALLOW),
        ("sendto", (3, 1, 1, 0, 1 << 40, 16), REFUSE),
        ("sendto", (3, 1, 1, 0, 64, 16), REFUSE),
        ("kill", (1, 9), ALLOW),
        ("fchmod", (3, 0o755), ALLOW),
    ],
)
def test_verdicts(architecture: str, name: str, arguments: tuple[int, ...], expected: int) -> None:
    assert ask(architecture, name, *arguments) == expected


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_signals_to_itself_only(architecture: str) -> None:
    for name in ("kill", "tgkill"):
        told = {pid: ask(architecture, name, pid, 9, self_only=77) for pid in (77, 0, -77, 1, 78, -1, -78)}
        assert {pid for pid, answer in told.items() if answer == ALLOW} == {77, 0, -77}
    assert ask(architecture, "tkill", 77, self_only=77) == REFUSE


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_modes_are_only_pretended(architecture: str) -> None:
    assert ask(architecture, "fchmodat", keep_modes=True) == PRETEND


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("socket", (1, 5 | 0o2000000), ALLOW),
        ("socket", (1, 1), ALLOW),
        ("socket", (1, 2), REFUSE),
        ("socket", (2, 1), REFUSE),
        ("socket", (16, 3), REFUSE),
        ("bind", (3,), ALLOW),
        ("listen", (3,), ALLOW),
        ("accept4", (3,), ALLOW),
        ("connect", (3,), seccomp.NOBODY_LISTENS),
        ("ptrace", (), REFUSE),
        ("sendto", (3, 1, 1, 0, 64, 16), REFUSE),
    ],
)
def test_who_drives_a_gpu_has_local_sockets_that_reach_nobody(
    architecture: str, name: str, arguments: tuple[int, ...], expected: int
) -> None:
    assert ask(architecture, name, *arguments, local_sockets=True) == expected


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_other_architectures_and_calls_of_tomorrow(architecture: str) -> None:
    program = seccomp.assemble(architecture)
    assert verdict(program, 0x40000003, 1) == KILL_PROCESS
    assert verdict(program, seccomp.AUDIT_ARCH[architecture], seccomp.X32_BIT | 41) == KILL_PROCESS
    assert verdict(program, seccomp.AUDIT_ARCH[architecture], seccomp.NEWEST + 1) == NO_SUCH_CALL


@given(
    architecture=st.sampled_from(ARCHITECTURES),
    number=st.integers(0, 2**32 - 1),
    arguments=st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6),
    self_only=st.integers(0, 2**22),
    keep_modes=st.booleans(),
)
def test_every_call_gets_one_of_the_answers(
    architecture: str, number: int, arguments: list[int], self_only: int, keep_modes: bool
) -> None:
    program = seccomp.assemble(architecture, self_only=self_only, keep_modes=keep_modes)
    answer = verdict(program, seccomp.AUDIT_ARCH[architecture], number, *arguments)
    assert answer in (ALLOW, REFUSE, NO_SUCH_CALL, PRETEND, KILL_PROCESS)
    assert len(program) < 4096 and all(0 <= i.if_true < 256 and 0 <= i.if_false < 256 for i in program)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_numbers_are_those_of_the_kernel_headers(architecture: str) -> None:
    header = HEADERS[architecture]
    if not header.exists():
        pytest.skip(f"needs the kernel's headers ({header})")
    theirs = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text()))
    text = seccomp.TABLE + seccomp.MODES + seccomp.SIGNALS + seccomp.CHECKED
    ours = seccomp.numbers(text, architecture)
    wrong = {
        name: (number, theirs[name]) for name, number in ours.items() if name in theirs and number != int(theirs[name])
    }
    assert not wrong
    assert len(set(ours.values())) == len(ours)
