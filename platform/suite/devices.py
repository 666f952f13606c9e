"""Are the devices of a plan at hand? Asked before anything is begun: a suite for GPUs says so where there is none.

Owns the words of that refusal, and the Ray cluster that the samples of a plan share. What a device is and whether it
works is toolexec/devices' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kernelwright.errors import MissingTool
from kernelwright.protocols import Device
from kernelwright.records import SuitePlan

GPU = "cuda"
RAY = "ray"


def over_ray(plan: SuitePlan) -> bool:
    """Whether samples of the plan are judged in a Ray cluster."""
    return any(arm.get("executor") == RAY for arm in plan.arms.values())


@contextmanager
def hosts(plan: SuitePlan) -> Iterator[None]:
    """What the samples of a plan share while they run: a Ray cluster where they are judged in one, else nothing.

    Raises:
        MissingTool: Ray is not installed.
    """
    if not over_ray(plan):
        yield
        return
    from kernelwright.toolexec.executors.ray import shared_cluster

    with shared_cluster():
        yield


def require_ray(plan: SuitePlan) -> None:
    """Refuse a plan for a Ray cluster where Ray is not installed.

    Raises:
        MissingTool: it says how to get it.
    """
    if over_ray(plan):
        from kernelwright.toolexec.executors.ray import installed

        installed()


def require_devices(plan: SuitePlan, device: Callable[[str], Device]) -> None:
    """Refuse a plan whose devices are not here. In a Ray cluster the hosts answer for theirs.

    Args:
        plan: what is to be run.
        device: a device by its name.

    Raises:
        MissingTool: a device is not at hand; for GPUs it says what can be had without one.
        UnknownName: no such device.
    """
    if over_ray(plan):
        return
    for name in plan.devices:
        found = device(name).availability()
        if not found.ok:
            raise _absent(plan.name, name, found.detail)


def _absent(suite: str, name: str, detail: str) -> MissingTool:
    if name.partition(":")[0] != GPU:
        return MissingTool(f"{suite} runs on {name}, which is not at hand: {detail}")
    return MissingTool(
        f"{suite} runs on {name}, and no GPU is at hand here: nothing was run, and nothing is claimed ({detail})",
        hint="run the same command on a machine with a GPU; without one, "
        f"`kernelwright suite run {suite} --device none` compiles the kernels and says what limits them",
    )
