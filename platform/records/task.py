"""Task: a reference module, the inputs it promises to work on, its workloads and the rules of judgement."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from kernelwright.records.record import Record, content_hash
from kernelwright.records.status import LanguageName

Override = int | float | bool | str | tuple[int, ...]


class Domain(Record):
    """The values an input may hold. Inputs outside it are nobody's promise and are never drawn."""

    low: float | None = None
    """Smallest value; None means no lower bound."""
    high: float | None = None
    """Largest value; None means no upper bound."""
    structure: Literal["free", "rows", "opaque"] = "free"
    """``free``: elements are independent; ``rows``: only whole rows (first axis) may be exchanged between draws;
    ``opaque``: only what get_inputs() makes is valid."""
    non_finite: Literal["never", "propagate"] = "never"
    """``propagate``: NaN and Inf may occur and must come out where the reference puts them."""


class InputSpec(Record):
    """One input of ``Model.forward``, in order."""

    name: str
    """The argument's name."""
    axes: tuple[str, ...]
    """One name an axis, e.g. ("batch", "hidden"); () is a scalar."""
    dtype: str
    """torch's name without the prefix, e.g. float32, uint8, int64."""
    domain: Domain = Domain()


class Workload(Record):
    """One set of shapes with its weight in the objective."""

    name: str
    set: dict[str, Override] = Field(default_factory=dict)
    """Module constants of reference.py that this workload overrides; {} means the file as it is."""
    weight: float = Field(default=1.0, gt=0)
    """Weight in the weighted geometric mean of speed-ups."""
    reduced: bool = False
    """True when the shapes are smaller than the original benchmark's; reports say so."""


class TolerancePolicy(Record):
    """How far a result may be from the float64 reference. Integer and bool outputs are always exact."""

    error_ratio: float = Field(default=4.0, gt=0)
    """The candidate's RMS error may be this many times the reference's own error against float64."""
    rms_floor: float = Field(default=1e-5, gt=0)
    """RMS-relative error that always passes (float32; other dtypes scale it by their epsilon)."""
    deterministic: bool = True
    """False: bitwise equality between runs is not asked for (atomics)."""


class KernelPolicy(Record):
    """What a Candidate of this task may use."""

    own_kernel: bool = False
    """True: library calls that do the task's main work are refused (POLICY)."""
    forbid_regression: bool = False
    """True: a candidate slower than the best baseline on any single workload does not count as an improvement."""


class StartKernel(Record):
    """A slow kernel that the user brings; it is judged like any candidate and becomes a baseline."""

    language: LanguageName
    files: dict[str, str]
    """File name -> text; the first entry file is ``entry_file``."""
    entry_file: str


class Task(Record):
    """A kernel to make faster. Its id hashes everything that changes what is judged."""

    FORMAT: ClassVar[str] = "task"

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$")
    description: str = ""
    """One or two sentences in the words of people."""
    family: str = "unknown"
    """Operator family, e.g. stencil, softmax, norm, reduction, matmul."""
    reference: str
    """Text of reference.py: Model, get_inputs, get_init_inputs."""
    inputs: tuple[InputSpec, ...] = ()
    """() where the format declares none (KernelBench): then shapes and dtypes are read off get_inputs()."""
    workloads: tuple[Workload, ...] = (Workload(name="default"),)
    tolerance: TolerancePolicy = TolerancePolicy()
    policy: KernelPolicy = KernelPolicy()
    start: StartKernel | None = None
    torch_ops: tuple[str, ...] = ()
    """Names by which torch users would look for it, e.g. ("avg_pool2d", "box filter")."""
    licence: str
    source: str
    """Where the task comes from: an author, a file, a benchmark and its id."""
    format_kind: Literal["native", "kernelbench"] = "native"
    path: str = ""
    """The file or folder it was loaded from; not part of its identity."""

    @model_validator(mode="after")
    def _workloads_are_named_apart(self) -> Task:
        names = [w.name for w in self.workloads]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"workloads need distinct names, got {names}")
        return self

    @property
    def id(self) -> str:
        """Content hash over everything but the path and the descriptive texts."""
        keep = self.model_dump(mode="json", exclude={"path", "description", "torch_ops", "licence", "source"})
        return content_hash(keep)
