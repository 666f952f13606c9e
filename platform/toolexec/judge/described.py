"""What the judge knows of one workload: the public facts and how the reference is called.

Owns turning the reference worker's description into records and into the LoadSpec of a contestant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.records import ArgumentFacts, Candidate, OperationFacts, WorkloadFacts
from kernelwright.toolexec.workers.kernel import LoadSpec, TensorSpec


@dataclass(frozen=True)
class Described:
    """One workload of a task."""

    facts: WorkloadFacts
    inputs: tuple[TensorSpec, ...]
    parameters: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    scalars: tuple[float | int | bool, ...]
    call: Any
    init_args: tuple[Any, ...] | None
    """None where get_init_inputs() holds something that is no JSON."""
    may_alias: bool
    """The reference returns its input's own memory."""
    onednn_form: bool
    """The module has layers that torch.utils.mkldnn can convert."""

    @classmethod
    def of(cls, workload: str, told: Mapping[str, Any]) -> Described:
        """Read the reference worker's description."""
        inputs, parameters, outputs = (
            tuple(TensorSpec(t["name"], t["dtype"], tuple(t["shape"])) for t in told[kind])
            for kind in ("inputs", "parameters", "outputs")
        )
        scalars = tuple(told["scalars"])
        arguments = [ArgumentFacts(name=t.name, kind="input", dtype=t.dtype, shape=t.shape) for t in inputs]
        arguments += [ArgumentFacts(name=t.name, kind="parameter", dtype=t.dtype, shape=t.shape) for t in parameters]
        arguments += [
            ArgumentFacts(name=f"scalar{i}", kind="scalar", value=v if math.isfinite(v) else None)
            for i, v in enumerate(scalars)
        ]
        arguments += [ArgumentFacts(name=t.name, kind="output", dtype=t.dtype, shape=t.shape) for t in outputs]
        facts = WorkloadFacts(
            workload=workload,
            arguments=tuple(arguments),
            operations=tuple(OperationFacts(**o) for o in told["operations"]),
            results=tuple(told["results"]),
            export_error=told["export_error"],
            compulsory_bytes=told["compulsory_bytes"],
            flops=told["flops"],
            longest_sum=told["longest_sum"],
        )
        init = told["init_args"]
        init_args = None if init is None else tuple(init)
        return cls(
            facts=facts,
            inputs=inputs,
            parameters=parameters,
            outputs=outputs,
            scalars=scalars,
            call=told["call"],
            init_args=init_args,
            may_alias=bool(told["may_alias"]),
            onednn_form=bool(told["onednn_form"]),
        )

    def spec(self, candidate: Candidate, artifact: Path, threads: int) -> LoadSpec:
        """LoadSpec of a candidate."""
        options: dict[str, Any] = {"may_alias": True} if self.may_alias else {}
        if self.init_args is None:
            options["own_init"] = True
        return self._spec(
            candidate.entry.value, candidate.language.value, artifact, threads, options, candidate.tunable_values()
        )

    def baseline_spec(self, reference: Path, mode: str, threads: int) -> LoadSpec:
        """LoadSpec of the reference module in one of its forms."""
        return self._spec("module", "torch", reference, threads, {"class": "Model", "mode": mode}, {})

    def _spec(
        self,
        entry: str,
        language: str,
        artifact: Path,
        threads: int,
        options: dict[str, Any],
        tunables: dict[str, Any],
    ) -> LoadSpec:
        return LoadSpec(
            entry=entry,
            language=language,
            artifact=str(artifact),
            inputs=self.inputs,
            parameters=self.parameters,
            outputs=self.outputs,
            scalars=self.scalars,
            call=self.call,
            init_args=self.init_args or (),
            tunables=tunables,
            threads=threads,
            options=options,
        )
