"""Compiles one file with NVRTC: runs as a script in a confined process of its own, with the standard library only.

``python -I -S nvrtc_child.py LIBRARY SOURCE OPTION...`` writes kernel.cubin and kernel.ptx into the working folder and
the program's log (ptxas' words among it) to stdout; exit status 0 when it compiled. It must import nothing of ours:
starting the interpreter is a part of every build's time.
"""

from __future__ import annotations

import ctypes
import glob
import os
import sys


def main(arguments: list[str]) -> int:
    """Compile; the exit status."""
    library, source, *options = arguments
    beside = sorted(glob.glob(os.path.join(os.path.dirname(library), "libnvrtc-builtins.so.*")))
    for path in beside:
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)  # else the loader would look for it in the system's folders only
    nvrtc = ctypes.CDLL(library)
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    with open(source, "rb") as stream:
        text = stream.read()
    program = ctypes.c_void_p()
    created = nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.encode(), 0, None, None)
    if created:
        sys.stdout.write(f"error: NVRTC does not start: {nvrtc.nvrtcGetErrorString(created).decode()}\n")
        return 1
    given = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    status = nvrtc.nvrtcCompileProgram(program, len(options), given)
    log = _fetch(nvrtc, program, "ProgramLog").decode("utf-8", "replace")
    sys.stdout.write(log if log or not status else f"error: {nvrtc.nvrtcGetErrorString(status).decode()}\n")
    if status:
        return 1
    for what, name in (("CUBIN", "kernel.cubin"), ("PTX", "kernel.ptx")):
        data = _fetch(nvrtc, program, what)
        if data:
            with open(name, "wb") as out:
                out.write(data)
    return 0


def _fetch(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    if getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) or not size.value:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    if getattr(nvrtc, f"nvrtcGet{what}")(program, buffer):
        return b""
    return buffer.raw if what == "CUBIN" else buffer.raw.rstrip(b"\0")


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))
