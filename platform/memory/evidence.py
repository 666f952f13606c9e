"""Evidence: what decisions bought, counted over the runs of a workspace and the measured ladders of the library.

All statistics over Decisions live here; planners, recall and the prompt optimizer read them. Only judgements of depth
full and confirmed count. The runs' files are read once: offsets are remembered, and what is kept can be deleted.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kernelwright.memory.library import Library
from kernelwright.protocols import TechniqueEvidence
from kernelwright.records import Decision, Depth, Ratio, ReviewState, Solution, Status, Task
from kernelwright.workspace import RunFolder

log = logging.getLogger(__name__)

STATE_FORMAT = "kernelwright/evidence-state/2"
RESAMPLES = 1000
"""Bootstrap resamples of a median; the interval's second digit no longer moves."""
_THOROUGH = {Depth.FULL.value: 1, Depth.CONFIRMED.value: 2}
_NO_VERDICT = (Status.UNJUDGED.value, Status.REFERENCE_BROKEN.value, Status.UNSTABLE.value)
"""These speak of the set-up: unstable is the judge's own control on a busy machine, whatever the candidate."""


@dataclass(frozen=True)
class Observation:
    """One decision that was judged in full."""

    technique: str
    family: str
    bottleneck: str
    language: str
    device: str
    """Kind of device: cpu, cuda, emulated, none."""
    over: Literal["parent", "baseline"]
    """What the gain is over. A decision without a parent is compared with the best baseline: that measures the
    whole kernel, not the step, so the two are never mixed."""
    gain: Ratio | None
    """None where the judge refused the child."""
    child: str
    """Candidate id, by which a run's decision and its copy in the library are told to be one."""
    parent: str | None = None
    source: str = ""
    """``run:<run>/<decision id>`` or ``solution:<id>#<rung, from 0>``."""


@dataclass(frozen=True)
class EvidenceRow:
    """Statistics of one kind of decision."""

    technique: str
    family: str
    bottleneck: str
    language: str
    device: str
    over: Literal["parent", "baseline"]
    n: int
    """Decisions with a measured gain."""
    failures: int
    """Decisions whose child the judge refused; not part of n."""
    median_gain: float | None
    low: float | None
    high: float | None
    """95 % bootstrap interval of the median; for a single decision its own interval."""


@dataclass
class _Judgement:
    """The most thorough verdict on a candidate so far, and how far its file was read."""

    offset: int = 0
    depth: int = 0
    """0: only screened so far."""
    status: str = ""
    device: str = ""


@dataclass
class _Run:
    """What was read of one run."""

    family: str
    offset: int = 0
    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Decision id -> its latest form, as JSON, without what statistics do not need."""
    judged: dict[str, _Judgement] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)


class Evidence:
    """Statistics over decisions. Not thread-safe; several processes may share the files."""

    def __init__(self, library: Library, *, runs: Path, state_file: Path | None = None) -> None:
        """
        Args:
            library: its measured rungs count, unless an entry was rejected.
            runs: the workspace's folder of runs; it need not exist.
            state_file: where what was read is kept for the next process; None keeps it in memory.
        """
        self._library = library
        self._root = runs
        self._state_file = state_file
        self._runs: dict[str, _Run] = _load_state(state_file) if state_file else {}

    def observations(self) -> list[Observation]:
        """Every decision that was judged in full, each once; reads what is new."""
        self._refresh()
        seen: dict[tuple[str, str, str | None], None] = {}
        found: list[Observation] = []
        for name, run in self._runs.items():
            here = list(_observed(run, name))
            seen.update(dict.fromkeys((o.technique, o.child, o.parent) for o in here))
            found += here
        for solution in self._library.solutions:
            if solution.review.state is not ReviewState.REJECTED:
                found += [o for o in _measured(solution) if (o.technique, o.child, o.parent) not in seen]
        return found

    def rows(
        self, *, family: str = "", bottleneck: str = "", language: str = "", device: str = ""
    ) -> list[EvidenceRow]:
        """Statistics by technique, family, bottleneck, language, device and what the gain is over.

        "" leaves a condition open. Most evidence first.
        """
        groups: dict[tuple[str, ...], list[Observation]] = {}
        for item in self._where(family=family, bottleneck=bottleneck, language=language, device=device):
            key = (item.technique, item.family, item.bottleneck, item.language, item.device, item.over)
            groups.setdefault(key, []).append(item)
        rows = [_row(items) for items in groups.values()]
        return sorted(rows, key=lambda r: (-r.n - r.failures, r.technique, r.family, r.bottleneck, r.language))

    def techniques(
        self, *, family: str = "", bottleneck: str = "", language: str = "", device: str = "",
        without: Collection[str] = (),
    ) -> list[TechniqueEvidence]:  # fmt: skip
        """What each technique bought over the kernel it was applied to; "" leaves open, ``without`` names sources.

        Returns:
            Most evidence first; n counts gains, failures count apart.
        """
        groups: dict[str, list[Observation]] = {}
        for item in self._where(family=family, bottleneck=bottleneck, language=language, device=device):
            if item.source.partition("#")[0] not in without and (item.over == "parent" or item.gain is None):
                groups.setdefault(item.technique, []).append(item)
        return _told(groups)

    def similar(
        self, families: Collection[str], *, bottleneck: str = "", languages: Collection[str] = (), device: str = "",
        without: Collection[str] = (),
    ) -> list[TechniqueEvidence]:  # fmt: skip
        """What each technique bought as a step on tasks of any of these families; conditions as in :meth:`techniques`.

        Args:
            families: of the tasks that count as similar.
            bottleneck: that the decision addressed.
            languages: () means any.
            device, without: kind of device; sources that do not count, as ``solution:<id>``.
        """
        groups: dict[str, list[Observation]] = {}
        for item in self._where(bottleneck=bottleneck, device=device):
            fits = item.family in families and (not languages or item.language in languages)
            if fits and item.source.partition("#")[0] not in without and (item.over == "parent" or item.gain is None):
                groups.setdefault(item.technique, []).append(item)
        return _told(groups)

    def _where(self, **wanted: str) -> list[Observation]:
        conditions = [(name, value) for name, value in wanted.items() if value]
        return [o for o in self.observations() if all(getattr(o, name) == value for name, value in conditions)]

    def _refresh(self) -> None:
        """Read what was appended to the runs' files since the last time."""
        changed = False
        present = {}
        for path in sorted(self._root.glob("*/decisions.jsonl")):
            name = path.parent.name
            run = self._runs.get(name)
            if run is None or _size(path) < run.offset:  # new, or not the file that was read
                run = _Run(family=_family(path.parent))
            present[name] = run
            changed |= _read_run(run, RunFolder(path.parent))
        changed |= present.keys() != self._runs.keys()
        self._runs = present
        if changed and self._state_file:
            _save_state(self._state_file, self._runs)


def median_interval(gains: Sequence[Ratio]) -> tuple[float, float, float]:
    """Median of some gains with its 95 % percentile bootstrap interval (Efron, 1979); always the same for the same.

    Args:
        gains: at least one; of a single one the interval is its own.

    Returns:
        median, low, high.
    """
    if len(gains) == 1:
        return gains[0].value, gains[0].low, gains[0].high
    import numpy as np

    values = np.array([g.value for g in gains])
    drawn = np.random.default_rng(0).integers(0, len(values), size=(RESAMPLES, len(values)))
    low, high = np.percentile(np.median(values[drawn], axis=1), (2.5, 97.5))
    return float(np.median(values)), float(low), float(high)


def _told(groups: Mapping[str, Sequence[Observation]]) -> list[TechniqueEvidence]:
    """The summary of each group, most evidence first."""
    rows = sorted((_row(items) for items in groups.values()), key=lambda r: (-r.n - r.failures, r.technique))
    return [
        TechniqueEvidence(
            technique=r.technique, n=r.n, failures=r.failures, median_gain=r.median_gain, low=r.low, high=r.high
        )
        for r in rows
    ]


def _row(items: Sequence[Observation]) -> EvidenceRow:
    first, gains = items[0], [o.gain for o in items if o.gain is not None]
    median, low, high = median_interval(gains) if gains else (None, None, None)
    return EvidenceRow(
        technique=first.technique,
        family=first.family,
        bottleneck=first.bottleneck,
        language=first.language,
        device=first.device,
        over=first.over,
        n=len(gains),
        failures=len(items) - len(gains),
        median_gain=median,
        low=low,
        high=high,
    )


def _read_run(run: _Run, folder: RunFolder) -> bool:
    """Read the new lines of a run; True when there were any."""
    before = run.offset
    lines, run.offset = _new_lines(folder.decisions_file, run.offset)
    for line in lines:
        try:
            decision = Decision.from_json(line)
        except ValueError as error:
            log.warning("%s: a decision was skipped: %s", folder.decisions_file, str(error).splitlines()[0])
            continue
        keep = {"technique", "bottleneck", "parent", "child", "measured"}
        run.decisions[decision.id] = decision.model_dump(mode="json", include=keep)
    changed = run.offset != before
    for child in {d["child"] for d in run.decisions.values() if d["child"]}:
        judgement = run.judged.setdefault(child, _Judgement())
        before = judgement.offset
        lines, judgement.offset = _new_lines(folder.evaluations_file(child), before)
        for line in lines:
            _note(judgement, line)
        changed |= judgement.offset != before
        if judgement.depth and child not in run.languages:
            run.languages[child] = _language(folder.candidate_folder(child) / "candidate.json")
    return changed


def _note(judgement: _Judgement, line: dict[str, Any]) -> None:
    """Let an evaluation count when it is at least as thorough as the one before."""
    depth = _THOROUGH.get(str(line.get("depth")), 0)
    if depth and depth >= judgement.depth and line.get("status") not in _NO_VERDICT:
        judgement.depth = depth
        judgement.status = str(line.get("status"))
        judgement.device = str(line.get("device", "cpu")).partition(":")[0]


def _new_lines(path: Path, offset: int) -> tuple[list[dict[str, Any]], int]:
    """The whole lines after ``offset``, parsed, and where they end; a half-written last one waits for its rest."""
    try:
        if path.stat().st_size == offset:
            return [], offset
        with path.open("rb") as stream:
            stream.seek(offset)
            data = stream.read()
    except OSError:
        return [], offset
    end = data.rfind(b"\n") + 1
    return list(_parsed(data[:end], path)), offset + end


def _parsed(data: bytes, path: Path) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            log.warning("%s: an unreadable line was skipped", path)
            continue
        if isinstance(value, dict):
            yield value


def _observed(run: _Run, name: str) -> Iterator[Observation]:
    for id, decision in run.decisions.items():
        child = decision["child"]
        judgement = run.judged.get(child or "", _Judgement())
        if not judgement.depth:
            continue
        passed = judgement.status == Status.PASSED.value
        gain = Ratio.model_validate(decision["measured"]) if passed and decision["measured"] else None
        if passed and (gain is None or gain.disturbed or decision["parent"] not in (None, gain.against)):
            continue  # not compared with what it starts from, or so that nothing is decided
        yield Observation(
            technique=decision["technique"],
            family=run.family,
            bottleneck=decision["bottleneck"],
            language=run.languages.get(child, ""),
            device=judgement.device,
            over="parent" if decision["parent"] else "baseline",
            gain=gain,
            child=child,
            parent=decision["parent"],
            source=f"run:{name}/{id}",
        )


def _measured(solution: Solution) -> Iterator[Observation]:
    for number, rung in enumerate(solution.rungs):
        decision = rung.decision
        if decision.measured is None or not rung.latency_us or rung.environment is None:
            continue
        if decision.measured.disturbed:
            continue
        yield Observation(
            technique=decision.technique,
            family=solution.family,
            bottleneck=decision.bottleneck,
            language=solution.language.value,
            device="cuda" if rung.environment.gpu else "cpu",
            over="parent" if decision.parent else "baseline",
            gain=decision.measured,
            child=rung.candidate.id,
            parent=decision.parent,
            source=f"solution:{solution.id}#{number}",
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _family(folder: Path) -> str:
    try:
        return Task.load(RunFolder(folder).task_file).family
    except (OSError, ValueError):
        return "unknown"


def _language(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["language"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _load_state(path: Path) -> dict[str, _Run]:
    """What an earlier process read; nothing where that is missing, damaged or of another version."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != STATE_FORMAT:
            return {}
        return {
            name: _Run(**{**run, "judged": {c: _Judgement(**j) for c, j in run["judged"].items()}})
            for name, run in data["runs"].items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("%s: not usable, reading the runs anew: %s", path, error)
        return {}


def _save_state(path: Path, runs: dict[str, _Run]) -> None:
    """Keep what was read; a disk that refuses costs time, not results."""
    data = {
        "format": STATE_FORMAT,
        "runs": {n: {**vars(r), "judged": {c: vars(j) for c, j in r.judged.items()}} for n, r in runs.items()},
    }
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(data), encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        log.warning("%s: cannot be kept: %s", path, error)
        part.unlink(missing_ok=True)
