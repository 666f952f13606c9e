"""Places where candidates run: short name -> dotted path, imported when used."""

from __future__ import annotations

from importlib import import_module

from kernelwright.errors import UnknownName
from kernelwright.protocols import Device

DEVICES: dict[str, str] = {
    "cpu": "kernelwright.toolexec.devices.cpu:CpuDevice",
    "cuda": "kernelwright.toolexec.devices.cuda:CudaDevice",
    "emulated": "kernelwright.toolexec.devices.emulated:EmulatedDevice",
    "none": "kernelwright.toolexec.devices.none:NoDevice",
}
"""Kind of device -> ``module:class``; the class is called with the device's full name, e.g. ``cuda:0``."""


def device(name: str) -> Device:
    """The device of a name such as ``cpu``.

    Raises:
        UnknownName: no such kind of device.
    """
    kind = name.partition(":")[0]
    if kind not in DEVICES:
        raise UnknownName("device", name, DEVICES)
    module, _, attribute = DEVICES[kind].partition(":")
    made: Device = getattr(import_module(module), attribute)(name)
    return made
