"""Occupancy: NVIDIA's own calculator as oracle, the hardware pages, and a few numbers known by hand."""

import shutil
import subprocess

import pytest
from fakes.gpu_kernels import needs_nvrtc
from toolexec.conftest import needs_compiler

from kernelwright.errors import UnknownName
from kernelwright.memory.knowledge_pages import load_all_hardware
from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.languages.occupancy import ARCHITECTURES, MULTIPROCESSORS, multiprocessor, occupancy

ORACLE = r"""
#include <stdio.h>
#include <string.h>
#include <stddef.h>
#include "cuda_occupancy.h"
int main() {
  int cc, warps, per_sm, per_block, reserved, threads, regs, shared;
  while (scanf("%d %d %d %d %d %d %d %d", &cc, &warps, &per_sm, &per_block, &reserved, &threads, &regs, &shared) == 8) {
    cudaOccDeviceProp p;
    cudaOccFuncAttributes a;
    cudaOccDeviceState s;
    cudaOccResult r;
    memset(&p, 0, sizeof p), memset(&a, 0, sizeof a), memset(&s, 0, sizeof s), memset(&r, 0, sizeof r);
    p.computeMajor = cc / 10, p.computeMinor = cc % 10;
    p.maxThreadsPerBlock = 1024, p.maxThreadsPerMultiprocessor = warps * 32, p.warpSize = 32, p.numSms = 1;
    p.regsPerBlock = p.regsPerMultiprocessor = 65536;
    p.sharedMemPerBlock = 49152, p.sharedMemPerMultiprocessor = per_sm, p.sharedMemPerBlockOptin = per_block;
    p.reservedSharedMemPerBlock = reserved;
    a.maxThreadsPerBlock = 1024, a.numRegs = regs, a.partitionedGCConfig = PARTITIONED_GC_OFF;
    a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN, a.maxDynamicSharedSizeBytes = per_block;
    s.cacheConfig = CACHE_PREFER_SHARED, s.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    int failed = cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, threads, shared);
    printf("%d\n", failed ? -1 : r.activeBlocksPerMultiprocessor);
  }
}
"""


def cases():
    for architecture in dict.fromkeys(a.rstrip("a") for a in ARCHITECTURES):
        for threads in (32, 64, 96, 128, 160, 256, 384, 512, 768, 1000, 1024):
            for registers in (16, 32, 40, 64, 72, 96, 128, 168, 255):
                for shared in (0, 1, 1000, 8192, 33000, 49152, 60000, 100000, 200000):
                    yield architecture, threads, registers, shared


@needs_compiler
@needs_nvrtc
def test_it_agrees_with_nvidias_own_calculator(tmp_path):
    headers = toolchain.headers()
    (tmp_path / "oracle.cpp").write_text(ORACLE)
    command = ["g++", "-O1", f"-I{headers.path}", "oracle.cpp", "-o", "oracle"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60, capture_output=True)
    lines, mine = [], []
    for architecture, threads, registers, shared in cases():
        name = architecture if architecture in ARCHITECTURES else architecture + "a"
        m = multiprocessor(name)
        cc = int(architecture.removeprefix("sm_"))
        numbers = (cc, m.warps, m.shared_bytes, m.shared_bytes_per_block, m.reserved_bytes, threads, registers, shared)
        lines.append(" ".join(map(str, numbers)))
        mine.append(occupancy(name, threads=threads, registers=registers, shared_bytes=shared).blocks)
    told = subprocess.run([tmp_path / "oracle"], input="\n".join(lines), capture_output=True, text=True, timeout=60)
    assert [int(n) for n in told.stdout.split()] == mine
    assert len(mine) > 6000


@pytest.mark.parametrize("architecture", ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120"])
def test_the_hardware_pages_say_the_same(architecture):
    pages = [p for p in load_all_hardware()[0] if architecture in p.targets]
    limits = multiprocessor(architecture)
    assert pages
    for page in pages:
        assert page.value("max_warps_per_sm") == limits.warps
        assert page.value("registers_per_sm") == limits.registers
        assert page.value("shared_memory_kib_per_sm") == limits.shared_bytes / 1024
        assert page.value("shared_memory_kib_per_block") == limits.shared_bytes_per_block / 1024


def test_the_limiter_is_named():
    def limiter(**changes):
        given = {"threads": 256, "registers": 32, "shared_bytes": 0} | changes
        return occupancy("sm_90a", **given).limiter

    assert limiter() == "warps + registers"
    assert limiter(registers=128) == "registers"
    assert limiter(shared_bytes=100_000) == "shared memory"
    assert limiter(threads=32) == "blocks"


def test_what_cannot_be_launched_has_no_block():
    assert occupancy("sm_80", threads=1024, registers=128, shared_bytes=0).blocks == 0
    assert occupancy("sm_80", threads=32, registers=32, shared_bytes=164 * 1024).blocks == 0
    assert occupancy("sm_80", threads=2048, registers=16, shared_bytes=0).blocks == 0


def test_an_unknown_architecture_is_answered_with_the_known_ones():
    with pytest.raises(UnknownName, match="sm_70") as error:
        multiprocessor("sm_70")
    assert "sm_90a" in str(error.value)
    assert shutil.which("sh") and set(MULTIPROCESSORS) >= {"80", "89", "90", "100", "120"}
