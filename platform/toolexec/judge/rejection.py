"""A candidate's failure on its way to becoming an Evaluation.

Owns how what a worker said becomes a Status and a Failure. Never leaves the judge.
"""

from __future__ import annotations

import re

from kernelwright.records import Failure, Status
from kernelwright.toolexec.judge.worker_failure import WorkerFailure

STATUS_OF = {
    "runtime": Status.RUNTIME_ERROR,
    "died": Status.RUNTIME_ERROR,
    "compile": Status.COMPILE_ERROR,
    "shape": Status.WRONG_SHAPE,
    "dtype": Status.WRONG_DTYPE,
    "cheated": Status.CHEATED,
    "memory": Status.OUT_OF_MEMORY,
    "timeout": Status.TIMEOUT,
}
LOG_LENGTH = 1500


class Rejection(Exception):
    """The candidate did not pass.

    Args:
        status: what the Evaluation will say.
        failure: with what.
    """

    def __init__(self, status: Status, failure: Failure) -> None:
        super().__init__(failure.message)
        self.status = status
        self.failure = failure


def trimmed(log: str, length: int = LOG_LENGTH) -> str:
    """The end of a log without control characters, cut to a size that can be shown."""
    # Line and paragraph separators and lone surrogates would break the files that it is kept in.
    clean = re.sub(r"[^\t\n\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\uffff]", "", log)
    return clean if len(clean) <= length else "... " + clean[-length:]


def from_worker(failure: WorkerFailure, *, workload: str, doing: str, family: str = "") -> Rejection:
    """What a worker's failure means for the candidate in it.

    Args:
        failure: what the worker did.
        workload: at which workload.
        doing: what it was asked to do, e.g. ``load``, ``run``.
        family: the input family it failed on.
    """
    status = STATUS_OF.get(failure.kind, Status.CHEATED)
    told = Failure(
        check=doing,
        message=trimmed(f"{doing}: {failure.message}"),
        workload=workload,
        family=family,
        log_tail=trimmed(failure.log),
    )
    return Rejection(status, told)
