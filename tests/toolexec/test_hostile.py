"""Candidates that crash, hang, flood, fork or leave: the right status, a live judge, and nothing left behind."""

import os
import time
from pathlib import Path

import pytest
from fakes.kernels import RIGHT, RIGHT_CPP, cpp, small_task
from toolexec.conftest import needs_compiler

from kernelwright.protocols import JudgeSettings
from kernelwright.records import Depth, Status
from kernelwright.toolexec.executors.local import LocalExecutor

pytestmark = needs_compiler
HEADERS = """
#include <csignal>
#include <cstdio>
#include <unistd.h>
#include <sys/mman.h>
#include <new>
"""


def strays(session) -> set[int]:
    """Processes started on behalf of this session that are none of its live workers."""
    session._pool.settle()  # a spare that is starting belongs to nobody yet
    mark = str(session._pool.root).encode()
    live = {pid for w in session._pool._workers for pid in w.processes()}
    found = set()
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and mark in Path("/proc", name, "environ").read_bytes():
                found.add(int(name))
        except OSError:
            continue
    return found - live


@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        ("  *(volatile int*)8 = 1;", {Status.RUNTIME_ERROR}),
        ("  abort();", {Status.RUNTIME_ERROR}),
        (RIGHT + "  _exit(0);", {Status.RUNTIME_ERROR}),
        (RIGHT + "  exit(0);", {Status.RUNTIME_ERROR}),
        ("  throw 1;", {Status.RUNTIME_ERROR}),
        ("  kill(getpid(), SIGTERM); pause();", {Status.RUNTIME_ERROR}),
        ("  for (int i = 3; i < 100; i++) close(i);", {Status.RUNTIME_ERROR}),
        ('  for (int i = 3; i < 100; i++) (void)!write(i, "x\\n", 2);' + RIGHT, {Status.CHEATED, Status.RUNTIME_ERROR}),
        ("  y[0] = 1; std::vector<char*> all; for (;;) all.push_back(new char[1 << 30]);", {Status.OUT_OF_MEMORY}),
        # Every call leaves a process behind, which makes the next one dearer.
        ("  if (fork() == 0) for (;;) pause();\n" + RIGHT, {Status.PASSED, Status.RUNTIME_ERROR, Status.IMPLAUSIBLE}),
    ],
    ids=["segfault", "abort", "_exit", "exit", "throw", "sigterm", "close", "write", "memory", "fork"],
)
def test_a_crash_is_a_verdict(session, body, statuses):
    verdict = session.evaluate(cpp(body, before=HEADERS), depth=Depth.SCREEN)
    assert verdict.status in statuses, verdict.failure
    assert not strays(session)
    assert session.evaluate(RIGHT_CPP, depth=Depth.SCREEN).status is Status.PASSED


@pytest.mark.parametrize(
    "body",
    ["  for (volatile int i = 0;; i = i + 1) {}", '  for (;;) printf("all work and no play %s\\n", "x");'],
    ids=["loops", "prints"],
)
def test_a_hang_is_ended_in_time(session, body):
    start = time.monotonic()
    verdict = session.evaluate(cpp(body, before=HEADERS), depth=Depth.SCREEN, deadline_s=4.0)
    assert verdict.status is Status.TIMEOUT, verdict.failure
    assert time.monotonic() - start < 30
    assert "time" in verdict.failure.message


def test_closing_leaves_nothing_behind(settings):
    eager_only = JudgeSettings(cache_dir=settings.cache_dir, baselines=("eager",))
    task = small_task(workloads=({"name": "small"},))
    opened = LocalExecutor().open(task, settings=eager_only)
    root = opened._pool.root
    assert root.exists() and opened._pool._workers
    opened.close()
    opened.close()
    assert not root.exists()
    assert not strays(opened)
