"""What cupy_runtime.py and driver_api.py hand to CUDA, held against CUDA's own headers. No GPU is needed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.workers import cupy_runtime as runtime
from kernelwright.toolexec.workers import driver_api
from kernelwright.toolexec.workers.cupy_runtime import DeviceFault, _Attribute, _Config, told

_headers = toolchain.headers()
needs_headers = pytest.mark.skipif(
    _headers is None or not (_headers.path / "crt" / "host_defines.h").is_file() or shutil.which("g++") is None,
    reason="CUDA's headers (with crt/, which nvidia-cuda-crt brings) and a C++ compiler are held against it",
)


@needs_headers
def test_structures_and_numbers_are_those_of_cuda_h(tmp_path: Path) -> None:
    assert _headers is not None
    equal = {
        "sizeof(CUlaunchConfig)": ctypes.sizeof(_Config),
        "offsetof(CUlaunchConfig, blockDimX)": _Config.block.offset,
        "offsetof(CUlaunchConfig, sharedMemBytes)": _Config.shared.offset,
        "offsetof(CUlaunchConfig, hStream)": _Config.stream.offset,
        "offsetof(CUlaunchConfig, attrs)": _Config.attributes.offset,
        "offsetof(CUlaunchConfig, numAttrs)": _Config.count.offset,
        "sizeof(CUlaunchAttribute)": ctypes.sizeof(_Attribute),
        "offsetof(CUlaunchAttribute, value)": _Attribute.value.offset,
        "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION": runtime.CLUSTER_DIMENSION,
        "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": runtime.MAX_DYNAMIC_SHARED,
        "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED": runtime.NON_PORTABLE_CLUSTER,
        "cudaLimitPersistingL2CacheSize": runtime.PERSISTING_LIMIT,
        "cudaMemcpyHostToDevice": runtime.HOST_TO_DEVICE,
        "cudaMemcpyDeviceToHost": runtime.DEVICE_TO_HOST,
        "cudaMemcpyDeviceToDevice": runtime.DEVICE_TO_DEVICE,
    }
    lines = [f'static_assert(int({name}) == {value}, "{name}");' for name, value in equal.items()]
    text = "#include <cstddef>\n#include <cuda.h>\n#include <cuda_runtime_api.h>\n" + "\n".join(lines)
    source = tmp_path / "numbers.cpp"
    source.write_text(text)
    command = ["g++", "-std=c++17", "-fsyntax-only", *toolchain.header_flags(_headers.path), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:1500]


def test_errors_of_cuda_become_faults_in_a_line() -> None:
    with pytest.raises(DeviceFault, match="cudaErrorIllegalAddress: an illegal") as told_:
        with told():
            raise RuntimeError("cudaErrorIllegalAddress: an illegal\nmemory access")
    assert told_.value.kind == "runtime" and "\n" not in str(told_.value)
    with pytest.raises(DeviceFault) as told_:
        with told():
            raise RuntimeError("cudaErrorMemoryAllocation: out of memory")
    assert told_.value.kind == "memory"

DECLARED = {
    "cuMemAlloc_v2": "CUdeviceptr*, size_t",
    "cuMemcpyHtoD_v2": "CUdeviceptr, const void*, size_t",
    "cuMemcpyDtoH_v2": "void*, CUdeviceptr, size_t",
    "cuMemsetD8_v2": "CUdeviceptr, unsigned char, size_t",
    "cuModuleLoadData": "CUmodule*, const void*",
    "cuModuleGetFunction": "CUfunction*, CUmodule, const char*",
    "cuLaunchKernel": "CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, "
    "void**, void**",
    "cuGetErrorName": "CUresult, const char**",
}
"""What driver_api.py calls, as it believes that cuda.h declares it."""


@needs_headers
def test_the_driver_is_called_as_cuda_h_declares(tmp_path: Path) -> None:
    assert _headers is not None and set(DECLARED) == set(driver_api.SIGNATURES)
    assert {n: len(d.split(",")) for n, d in DECLARED.items()} == {
        n: len(arguments) for n, arguments in driver_api.SIGNATURES.items()
    }
    same = "static_assert(std::is_same_v<decltype(&{0}), CUresult (*)({1})>, \"{0}\");"
    lines = [same.format(name, types) for name, types in DECLARED.items()]
    lines += ["static_assert(sizeof(CUdeviceptr) == 8 && sizeof(CUresult) == sizeof(int));"]
    lines += [f"static_assert(CUDA_ERROR_OUT_OF_MEMORY == {driver_api.OUT_OF_MEMORY});"]
    source = tmp_path / "driver.cpp"
    source.write_text("#include <type_traits>\n#include <cuda.h>\n" + "\n".join(lines))
    command = ["g++", "-std=c++17", "-fsyntax-only", *toolchain.header_flags(_headers.path), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:1500]
