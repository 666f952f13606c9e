"""An ``nvidia-smi`` that answers from a table: a real program in a folder of its own, to be put on the PATH."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

H200 = ("0", "GPU-aaaa1111", "NVIDIA H200", "9.0", "143771", "580.65.06", "1980", "3201")
L4 = ("1", "GPU-bbbb2222", "NVIDIA L4", "8.9", "23034", "580.65.06", "2040", "6251")
CLOCKS = ("1755", "3201", "43", "213.40", "0x0000000000000004")
PROGRAM = """#!{python}
import sys
gpus, clocks, fails = {gpus!r}, {clocks!r}, {fails!r}
if fails:
    print(fails)
    sys.exit(9)
asked = next(a for a in sys.argv if a.startswith("--query-gpu="))
wanted = next((a.partition("=")[2] for a in sys.argv if a.startswith("--id=")), "")
for row in gpus:
    if not wanted or row[1] == wanted:
        print(", ".join(clocks if "clocks.sm" in asked else row))
"""


def nvidia_smi(
    folder: Path, gpus: Sequence[Sequence[str]] = (H200, L4), *, clocks: Sequence[str] = CLOCKS, fails: str = ""
) -> Path:
    """Write the program into ``folder``.

    Returns:
        The folder.
    """
    program = folder / "nvidia-smi"
    text = PROGRAM.format(python=sys.executable, gpus=[tuple(g) for g in gpus], clocks=tuple(clocks), fails=fails)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return folder
