"""The system-call filter: what no kernel needs, by name and architecture, assembled to BPF by hand.

A list of refusals, not of permissions: torch, Halide's JIT, OpenMP and compilers run unchanged. Calls newer than the
table are answered "no such call". No library is needed for this (libseccomp would be one more thing to install); the
price is the table of numbers below. Source of numbers: asm/unistd_64.h and asm-generic/unistd.h; of the program's
form: Documentation/userspace-api/seccomp_filter.rst.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Sequence
from typing import NamedTuple

from kernelwright.toolexec.sandbox.kernel_calls import machine, syscall

# name, number on x86_64, number on aarch64 ("-": not there). What each group would open is said before it.
TABLE = """
# other processes: their memory, descriptors, registers
ptrace 101 117 | process_vm_readv 310 270 | process_vm_writev 311 271 | process_madvise 440 440
process_mrelease 448 448 | kcmp 312 272 | pidfd_getfd 438 438 | pidfd_send_signal 424 424
migrate_pages 256 238 | move_pages 279 239
# the kernel's own inside, and large attack surfaces; io_uring would also pass by this filter
perf_event_open 298 241 | bpf 321 280 | userfaultfd 323 282 | kexec_load 246 104 | kexec_file_load 320 294
init_module 175 105 | finit_module 313 273 | delete_module 176 106 | iopl 172 - | ioperm 173 - | modify_ldt 154 -
lookup_dcookie 212 18 | nfsservctl 180 42 | syslog 103 116 | uselib 134 - | personality 135 92
io_uring_setup 425 425 | io_uring_enter 426 426 | io_uring_register 427 427
# mounts, namespaces, files by handle
mount 165 40 | umount2 166 39 | pivot_root 155 41 | chroot 161 51 | move_mount 429 429 | open_tree 428 428
open_tree_attr 467 467 | fsopen 430 430 | fsconfig 431 431 | fsmount 432 432 | fspick 433 433 | mount_setattr 442 442
setns 308 268 | unshare 272 97 | open_by_handle_at 304 265 | name_to_handle_at 303 264 | fanotify_init 300 262
# the machine as a whole
reboot 169 142 | swapon 167 224 | swapoff 168 225 | acct 163 89 | settimeofday 164 170 | clock_settime 227 112
clock_adjtime 305 266 | adjtimex 159 171 | sethostname 170 161 | setdomainname 171 162 | quotactl 179 60
quotactl_fd 443 443 | vhangup 153 58
# keys; filters of its own (they could rewrite what other calls answer)
keyctl 250 219 | add_key 248 217 | request_key 249 218 | seccomp 317 277
# priority and affinity: the judge sets them, alike for every contestant
sched_setaffinity 203 122 | sched_setscheduler 144 119 | sched_setparam 142 118 | sched_setattr 314 274
setpriority 141 140 | ioprio_set 251 30
# timers that send signals: SIGCONT wakes what was told to stand still, and which signal is meant lies in memory
timer_create 222 107
# memory and messages shared by name
shmget 29 194 | shmat 30 196 | shmctl 31 195 | msgget 68 186 | msgsnd 69 189 | msgrcv 70 188 | msgctl 71 187
semget 64 190 | semop 65 193 | semctl 66 191 | semtimedop 220 192 | mq_open 240 180 | mq_unlink 241 181
# sockets, to anywhere
socket 41 198 | connect 42 203 | bind 49 200 | listen 50 201 | accept 43 202 | accept4 288 242
# owners and labels of files
chown 92 - | lchown 94 - | fchown 93 55 | fchownat 260 54 | setxattr 188 5 | lsetxattr 189 6 | fsetxattr 190 7
setxattrat 463 463 | removexattr 197 14 | lremovexattr 198 15 | fremovexattr 199 16 | removexattrat 466 466
file_setattr 469 469
"""
MODES = """
chmod 90 - | fchmod 91 52 | fchmodat 268 53 | fchmodat2 452 452 | utime 132 - | utimes 235 - | futimesat 261 -
utimensat 280 88
"""
"""Answered "done" without being done where files of the same user lie outside: Landlock does not watch them."""
SIGNALS = """
tkill 200 130 | rt_sigqueueinfo 129 138 | rt_tgsigqueueinfo 297 240
"""
"""Refused where signals can leave; kill and tgkill may then only name the process itself."""
CHECKED = """
clone 56 220 | clone3 435 435 | prctl 157 167 | ioctl 16 29 | fcntl 72 25 | prlimit64 302 261 | socketpair 53 199
sendto 44 206 | kill 62 129 | tgkill 234 131
"""
"""Allowed or refused by their arguments."""

NEWEST = 469
"""Calls with larger numbers are not known here."""
X32_BIT = 0x40000000
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
REFUSE = 0x00050000 | errno.EPERM
NO_SUCH_CALL = 0x00050000 | errno.ENOSYS
PRETEND = 0x00050000
"""Answers 0 without calling."""
NOBODY_LISTENS = 0x00050000 | errno.ECONNREFUSED
AF_UNIX = 1
CONNECTED = (1, 5)
"""SOCK_STREAM and SOCK_SEQPACKET."""
LOCAL_SOCKETS = ("socket", "connect", "bind", "listen", "accept", "accept4")
"""What CUDA calls when it starts: it looks for a daemon, and offers its debugger a socket of its own."""

# BPF operations: load a word, jump if equal / greater / any bit set, and with a mask, return.
LOAD, EQUAL, GREATER_EQUAL, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16

NAMESPACE_FLAGS = 0x7E020080
"""CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} and CLONE_NEWTIME."""
SIGCONT = 18
PR_SET_PDEATHSIG, PR_SET_SECCOMP = 1, 22
OWNER_FCNTLS = (8, 10, 15)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX: they send signals in someone else's name."""
OWNER_IOCTLS = (0x8901, 0x8902, 0x5412, 0x541C)
"""FIOSETOWN, SIOCSPGRP; TIOCSTI and TIOCLINUX, which type into a terminal."""

SET_MODE_FILTER, SPEC_ALLOW, GET_ACTION_AVAIL = 1, 1 << 2, 2


class Instruction(NamedTuple):
    """One instruction of classic BPF; jumps count instructions to skip."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


def numbers(text: str, architecture: str) -> dict[str, int]:
    """Name -> number of one of the tables above."""
    column = 1 if architecture == "x86_64" else 2
    found = {}
    for line in text.splitlines():
        for entry in () if line.startswith("#") else line.split("|"):
            fields = entry.split()
            if fields and fields[column] != "-":
                found[fields[0]] = int(fields[column])
    return found


def load_argument(index: int, *, high: bool = False) -> Instruction:
    """Load 32 bits of a call's argument (little endian on both architectures)."""
    return Instruction(LOAD, ARGUMENTS_AT + 8 * index + (4 if high else 0))


def answer(action: int) -> Instruction:
    """End with an action."""
    return Instruction(RETURN, action)


def unless_equal(values: Sequence[int]) -> list[Instruction]:
    """Refuse unless the loaded word is one of ``values``."""
    jumps = [Instruction(EQUAL, v, if_true=len(values) - i) for i, v in enumerate(values)]
    return [*jumps, answer(REFUSE), answer(ALLOW)]


def if_equal(values: Sequence[int], action: int = REFUSE) -> list[Instruction]:
    """Take ``action`` if the loaded word is one of ``values``, else allow."""
    jumps = [Instruction(EQUAL, v, if_true=len(values) - i) for i, v in enumerate(values)]
    return [*jumps, answer(ALLOW), answer(action)]


def argument_checks(self_only: int) -> dict[str, list[Instruction]]:
    """What is asked of the calls that are neither always right nor always wrong.

    Args:
        self_only: process that kill and tgkill may name; 0 means that signals cannot leave anyway.
    """
    checks = {
        # A child that ends must not say SIGCONT: it would wake its parent.
        "clone": [
            load_argument(0), Instruction(ANY_BIT, NAMESPACE_FLAGS, 0, 1), answer(REFUSE),
            Instruction(AND, 0xFF), Instruction(EQUAL, SIGCONT, 0, 1), answer(REFUSE), answer(ALLOW),
        ],
        # Its flags lie in memory, where no filter can look; libc falls back to clone.
        "clone3": [answer(NO_SUCH_CALL)],
        "prctl": [
            load_argument(0),
            Instruction(EQUAL, PR_SET_PDEATHSIG, 0, 1),
            answer(PRETEND),
            *if_equal([PR_SET_SECCOMP]),
        ],
        "ioctl": [load_argument(1), *if_equal(OWNER_IOCTLS)],
        "fcntl": [load_argument(1), *if_equal(OWNER_FCNTLS)],
        "prlimit64": [load_argument(0), *unless_equal([0])],
        # Only connected streams: a datagram socket could be told another address.
        "socketpair": [load_argument(1), Instruction(AND, 0xF), *unless_equal([1])],
        "sendto": [
            load_argument(4),
            Instruction(EQUAL, 0, 1, 0),
            answer(REFUSE),
            load_argument(4, high=True),
            *unless_equal([0]),
        ],
    }
    if self_only:
        for name in ("kill", "tgkill"):
            checks[name] = [load_argument(0), *unless_equal([0, self_only, -self_only & 0xFFFFFFFF])]
    return checks


def assemble(
    architecture: str, *, self_only: int = 0, keep_modes: bool = False, local_sockets: bool = False
) -> list[Instruction]:
    """The program.

    Args:
        architecture: ``x86_64`` or ``aarch64``.
        self_only: the only process that may be signalled; 0 means no such check.
        keep_modes: pretend to change modes and times of files.
        local_sockets: let sockets of the local family be made and listened on. They reach nobody: connecting is
            answered as if nobody listened.

    Raises:
        KeyError: an architecture without a table.
    """
    program = [
        Instruction(LOAD, ARCH_AT),
        Instruction(EQUAL, AUDIT_ARCH[architecture], 1, 0),
        answer(KILL_PROCESS),
        Instruction(LOAD, NUMBER_AT),
        Instruction(GREATER_EQUAL, X32_BIT, 0, 1),
        answer(KILL_PROCESS),
        Instruction(GREATER_EQUAL, NEWEST + 1, 0, 1),
        answer(NO_SUCH_CALL),
    ]
    flat = dict.fromkeys(numbers(TABLE, architecture).values(), REFUSE)
    if self_only:
        flat |= dict.fromkeys(numbers(SIGNALS, architecture).values(), REFUSE)
    if keep_modes:
        flat |= dict.fromkeys(numbers(MODES, architecture).values(), PRETEND)
    checks = argument_checks(self_only)
    if local_sockets:
        table = numbers(TABLE, architecture)
        for name in LOCAL_SOCKETS:
            del flat[table[name]]
        flat[table["connect"]] = NOBODY_LISTENS
        checks["socket"] = [
            load_argument(0),
            Instruction(EQUAL, AF_UNIX, 1, 0),
            answer(REFUSE),
            load_argument(1),
            Instruction(AND, 0xF),
            *unless_equal(CONNECTED),  # a datagram could be told another address, by sendmsg
        ]
    for number, action in flat.items():
        program += [Instruction(EQUAL, number, 0, 1), answer(action)]
    checked = {**numbers(TABLE, architecture), **numbers(CHECKED, architecture)}
    for name, block in checks.items():
        program += [Instruction(EQUAL, checked[name], 0, len(block)), *block]
    return [*program, answer(ALLOW)]


class _Filter(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint16),
        ("jt", ctypes.c_uint8),
        ("jf", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Filter))]


def _seccomp_number() -> int:
    return numbers(TABLE, machine())["seccomp"]


def supported() -> bool:
    """Can a filter be put here?"""
    if machine() not in AUDIT_ARCH:
        return False
    action = ctypes.c_uint32(0x00050000)
    try:
        syscall("seccomp", _seccomp_number(), GET_ACTION_AVAIL, 0, ctypes.byref(action))
    except OSError:
        return False
    return True


def install(*, self_only: int = 0, keep_modes: bool = False, local_sockets: bool = False) -> None:
    """Put the filter on this process and all it will start, for ever. Needs no_new_privs.

    With SPEC_ALLOW: older kernels would otherwise slow every store down for filtered processes (the mitigation of
    speculative store bypass), and candidates would be timed in another machine than whatever runs unfiltered.

    Raises:
        OSError: the kernel refused.
    """
    program = assemble(machine(), self_only=self_only, keep_modes=keep_modes, local_sockets=local_sockets)
    raw = (_Filter * len(program))(*(_Filter(i.code, i.if_true, i.if_false, i.value) for i in program))
    holder = _Program(len(program), raw)
    syscall("seccomp filter", _seccomp_number(), SET_MODE_FILTER, SPEC_ALLOW, ctypes.byref(holder))
