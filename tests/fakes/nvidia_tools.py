"""``ncu`` and ``compute-sanitizer`` that run the program they are given, then print a text; tests put them on the PATH.

They find nothing themselves. What they show is that the program was started as it must be: when it fails, so do they.
"""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = """#!{python}
import subprocess, sys
at = next(i for i, a in enumerate(sys.argv) if i and a.endswith("python") or "/python3" in a)
done = subprocess.run(sys.argv[at:], capture_output=True, text=True)
open({log!r}, "a").write(" ".join(sys.argv[1:at]) + chr(10))
if done.returncode:
    print("==ERROR== the program ended with", done.returncode, done.stderr[-600:])
    sys.exit(1)
print({text!r})
"""

RAW = '''==PROF== Connected to process 4242 (/usr/bin/python3.11)
==PROF== Profiling "gemm" - 0: 0%....50%....100% - 11 passes
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",\
"gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed",\
"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",\
"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","lts__t_sector_hit_rate.pct",\
"l1tex__t_sector_hit_rate.pct","sm__warps_active.avg.pct_of_peak_sustained_active",\
"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",\
"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",\
"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio",\
"smsp__average_warps_issue_stalled_long_scoreboard_not_issued_per_issue_active.ratio",\
"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",\
"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active"
"","","","","","","","","","","","ns","%","%","%","%","%","%","inst","inst","inst","inst","%","%"
"0","4242","python3.11","127.0.0.1","gemm","1","7","(128, 1, 1)","(1,024, 1, 1)","0","9.0",\
"30,000","81.50","22.10","40.00","91.20","55.00","48.20","2.10","0.40","1.00","9.00","71.00","12.00"
"1","4242","python3.11","127.0.0.1","finish(float *)","1","7","(256, 1, 1)","(8, 1, 1)","0","9.0",\
"10,000","1.50","62.10","64.00","11.20","n/a","8.20","12.00","0.40","1.00","9.00","0.00","0.00"
'''
"""What ``ncu --csv --page raw --print-units base`` prints of two kernels."""
DETAILS = '''"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size",\
"Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"
"0","7","python","127.0.0.1","softmax","1","7","(256, 1, 1)","(512, 1, 1)","0","9.0",\
"GPU Speed Of Light Throughput","DRAM Throughput","%","88.10","","",""
"0","7","python","127.0.0.1","softmax","1","7","(256, 1, 1)","(512, 1, 1)","0","9.0",\
"GPU Speed Of Light Throughput","Duration","usecond","21.44","","",""
"0","7","python","127.0.0.1","softmax","1","7","(256, 1, 1)","(512, 1, 1)","0","9.0",\
"GPU Speed Of Light Throughput","Compute (SM) Throughput","%","31.00","","",""
"0","7","python","127.0.0.1","softmax","1","7","(256, 1, 1)","(512, 1, 1)","0","9.0",\
"GPU Speed Of Light Throughput","","","","SOLBottleneck","INF","The kernel is utilizing greater than 80.0% of DRAM."
"0","7","python","127.0.0.1","softmax","1","7","(256, 1, 1)","(512, 1, 1)","0","9.0",\
"Memory Workload Analysis","L2 Hit Rate","%","50.25","","",""
'''
"""What ``ncu --csv`` prints by default, one row a metric, rules among them."""
NOT_ALLOWED = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the "
    "target device 0."
)
CLEAN = """========= COMPUTE-SANITIZER
========= ERROR SUMMARY: 0 errors
"""
BEYOND = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at scale+0x150
=========     by thread (31,0,0) in block (3,0,0)
=========     Address 0x7f2a4c000400 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2a4c000000 of size 1,024 bytes
=========
========= ERROR SUMMARY: 1 error
"""
RACES = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at add_up+0x90
=========     and Read access at add_up+0xb0 [4 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def nvidia_tool(folder: Path, name: str, text: str) -> Path:
    """Write a tool into ``folder``.

    Returns:
        The file in which it notes how it was called, a line each time.
    """
    log = folder / f"{name}.log"
    program = folder / name
    program.write_text(PROGRAM.format(python=sys.executable, log=str(log), text=text), encoding="utf-8")
    program.chmod(0o755)
    return log
