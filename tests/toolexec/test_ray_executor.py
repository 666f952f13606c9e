"""The Ray executor on a local cluster: same verdicts, dead hosts replaced, hung ones killed, nothing left."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from contracts.executor import ExecutorContract
from fakes.executors import TextExecutor
from fakes.processes import descendants, gone
from fakes.records import a_candidate, a_task

from kernelwright.errors import KernelwrightError, MissingTool, TaskError, UnknownName
from kernelwright.protocols import JudgeSettings
from kernelwright.records import Depth, Status
from kernelwright.toolexec.executors import ray as executors_ray
from kernelwright.toolexec.executors.ray import RayExecutor, SessionHost, error_of, needs

TESTS = Path(__file__).resolve().parents[1]
OPENER = "fakes.executors:TextExecutor"
SETTINGS = JudgeSettings(threads=1)


def test_without_ray_the_hint_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "from kernelwright.toolexec.executors.ray import connect\n"
        "from kernelwright.errors import MissingTool\n"
        "try:\n    connect()\nexcept MissingTool as e:\n    print(e.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "pip install 'kernelwright[ray]'"


@pytest.mark.parametrize(
    "error", [TaskError("unfit", hint="do this"), UnknownName("baseline", "egaer", ["eager"]), MissingTool("no g++")]
)
def test_our_errors_survive_the_way_as_data(error: KernelwrightError) -> None:
    again = error_of(error.code, error.message, error.hint)
    assert type(again) is type(error) and (again.message, again.hint) == (error.message, error.hint)
    assert error_of("of-tomorrow", "?", "").code == "judge"


def test_a_host_answers_in_plain_data() -> None:
    host = SessionHost(OPENER)
    refused = host.open(a_task("unfit"), SETTINGS)
    assert refused.error == ("task", "its tolerance accepts zeros", "make it tighter") and refused.value is None
    opened = host.open(a_task("blur"), SETTINGS)
    assert opened.error is None and opened.progress == (("prepare", {"message": "loading"}),)
    judged = host.call("evaluate", (a_candidate("// 1\n"),), {"depth": Depth.FULL})
    assert judged.value.candidate_id == a_candidate("// 1\n").id and len(judged.progress) == 1


def test_a_host_needs_one_gpu_or_the_kernels_threads() -> None:
    assert needs(JudgeSettings(device="cuda:3", threads=2))["num_gpus"] == 1
    assert needs(JudgeSettings(threads=4)) == {"num_cpus": 4, "num_gpus": 0, "max_restarts": 0, "max_task_retries": 0}


INTERRUPTED = """
import sys, time
sys.path.insert(0, {tests!r})
from fakes.records import a_task
from kernelwright.protocols import JudgeSettings
from kernelwright.toolexec.executors.ray import RayExecutor
with RayExecutor("fakes.executors:TextExecutor").open(a_task(), settings=JudgeSettings()) as session:
    print(session._ray.get(session._host.process.remote()), flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_nothing_is_left_after_ctrl_c() -> None:
    """A cluster of the process's own ends with it, hosts and daemons alike.

    It comes before the tests on a cluster of this process: two at once on one machine disturb each other.
    """
    pytest.importorskip("ray", reason="needs the extra: pip install 'kernelwright[ray]'")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    environment.pop("RAY_ADDRESS", None)  # a cluster of its own, whatever others in this module use
    code = INTERRUPTED.format(tests=str(TESTS))
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    host = int(process.stdout.readline())
    family = descendants(process.pid)
    assert host in family and len(family) > 1
    process.send_signal(signal.SIGINT)
    process.wait(timeout=120)
    assert all(gone(pid) for pid in family)


# --- on a cluster ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Two nodes of one machine, ended afterwards."""
    pytest.importorskip("ray", reason="needs the extra: pip install 'kernelwright[ray]'")
    from ray.cluster_utils import Cluster

    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(TESTS), before)))  # for the hosts to find the fakes
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    os.environ["RAY_ADDRESS"] = made.address
    try:
        yield made
    finally:
        import ray

        ray.shutdown()
        made.shutdown()
        del os.environ["RAY_ADDRESS"]
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


def pid_of(session: executors_ray.RaySession) -> int:
    return int(session._ray.get(session._host.process.remote(), timeout=60))


@pytest.mark.slow
def test_ray_and_local_executors_agree_over_two_hundred_candidates(cluster: object) -> None:
    candidates = [a_candidate(f"// {n}\n") for n in range(200)]
    local = TextExecutor().open(a_task(), settings=SETTINGS)
    told: list[str] = []
    with RayExecutor(OPENER).open(a_task(), settings=SETTINGS, progress=lambda kind, data: told.append(kind)) as there:
        for candidate in candidates:
            one, other = local.evaluate(candidate, depth=Depth.FULL), there.evaluate(candidate, depth=Depth.FULL)
            assert one.to_json() == other.to_json()
        assert there.baselines == local.baselines and there.facts == local.facts and there.replaced == 0
    assert told == ["prepare"] + ["evaluation"] * 200


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_the_candidate_judged(cluster: object, tmp_path: Path) -> None:
    with RayExecutor(OPENER).open(a_task(), settings=SETTINGS) as session:
        os.kill(pid_of(session), signal.SIGKILL)
        assert session.evaluate(a_candidate("// 1\n"), depth=Depth.FULL).status in Status
        dies_once = a_candidate(f"// die once {tmp_path / 'died'}\n")
        assert session.evaluate(dies_once, depth=Depth.FULL).failure is None or (tmp_path / "died").exists()
        assert session.replaced == 2


@pytest.mark.slow
def test_what_kills_every_host_is_unjudged_and_what_hangs_times_out(cluster: object) -> None:
    with RayExecutor(OPENER, call_s=5).open(a_task(), settings=SETTINGS) as session:
        assert session.evaluate(a_candidate("// die\n"), depth=Depth.FULL).status is Status.UNJUDGED
        hung = session.evaluate(a_candidate("// hang\n"), depth=Depth.FULL)
        assert hung.status is Status.TIMEOUT and "was killed" in hung.failure.message
        assert session.evaluate(a_candidate("// 1\n"), depth=Depth.FULL).candidate_id == a_candidate("// 1\n").id


@pytest.mark.slow
def test_a_device_is_given_to_one_session_at_a_time(cluster: object) -> None:
    first = RayExecutor(OPENER).open(a_task(), settings=SETTINGS)
    second = RayExecutor(OPENER).open(a_task(), settings=SETTINGS)
    with pytest.raises(MissingTool, match="no host of the Ray cluster opened a session"):
        RayExecutor(OPENER, start_s=3).open(a_task(), settings=SETTINGS)
    pids = [pid_of(first), pid_of(second)]
    first.close()
    second.close()
    second.close()
    assert all(gone(pid) for pid in pids), "nothing is left running"
    with pytest.raises(TaskError, match="accepts zeros"):
        RayExecutor(OPENER).open(a_task("unfit"), settings=SETTINGS)


@pytest.mark.slow
def test_a_killed_node_is_survived(cluster: object) -> None:
    with RayExecutor(OPENER).open(a_task(), settings=SETTINGS) as keeps_the_head_busy:
        other = RayExecutor(OPENER).open(a_task(), settings=SETTINGS)
        victim = cluster.list_all_nodes()[-1]  # type: ignore[attr-defined]
        cluster.remove_node(victim, allow_graceful=False)  # type: ignore[attr-defined]
        cluster.add_node(num_cpus=1)  # type: ignore[attr-defined]
        for session in (keeps_the_head_busy, other):
            assert session.evaluate(a_candidate("// 1\n"), depth=Depth.FULL).candidate_id
        assert keeps_the_head_busy.replaced + other.replaced == 1
        other.close()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
class TestRayExecutor(ExecutorContract):
    task, unfit = a_task("blur"), a_task("unfit")
    passes, fails = a_candidate("// 14\n"), a_candidate("// 6\n")

    def make(self) -> RayExecutor:
        return RayExecutor(OPENER)
