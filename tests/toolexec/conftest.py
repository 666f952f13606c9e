"""Sessions on the small task, opened once a module: opening costs seconds, judging little."""

import shutil

import pytest
from fakes.kernels import START, small_task

from kernelwright.protocols import JudgeSettings
from kernelwright.toolexec.executors.local import LocalExecutor

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def settings(cache_dir):
    return JudgeSettings(cache_dir=cache_dir, baselines=("eager", "start"), timeout_s=40.0)


@pytest.fixture(scope="module")
def session(settings):
    """The small task with eager and the start kernel as baselines."""
    with LocalExecutor().open(small_task(start=START), settings=settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def start_session(settings):
    """The small task at one workload, with its start kernel as a baseline."""
    task = small_task(workloads=({"name": "small"},), start=START)
    with LocalExecutor().open(task, settings=settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def module_session(settings):
    """The small task at one workload, for modules whose parameters have its size; eager only."""
    task = small_task(workloads=({"name": "small"},))
    eager_only = JudgeSettings(cache_dir=settings.cache_dir, baselines=("eager",), timeout_s=60.0)
    with LocalExecutor().open(task, settings=eager_only) as opened:
        yield opened
