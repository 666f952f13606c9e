"""`prompts optimize`, `prompts compare` and `lessons ablate` from the command line with the one judge, killed once.

Usage: see tests/benchmarks/prompts_with_judge.py. What each step said lies in FOLDER/<step>.txt.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fakes.openai_server import OpenAIServer
from promptopt.kernel_model import LADDERS, KernelModel, lessons

from kernelwright.agents.llm.ledger import read_calls
from kernelwright.promptopt.shelves import LessonShelf
from kernelwright.workspace import Workspace

OPTIONS = (
    "-o", "languages=[cpp]", "-o", "library.recall=false", "-o", "judge.baselines=[eager]", "-o", "models.repairs=0",
    "-o", "budget.rounds=1", "-o", "budget.seconds=900", "-o", "search.tune_measurements=0",
    "-o", "engines.reflector=search", "-o", "models.prices={tiny: {input: 1, output: 4}}",
)  # fmt: skip


@dataclass
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str


@dataclass
class Commands:
    """The command line in one workspace, with the loopback model."""

    folder: Path
    base_url: str

    @property
    def place(self) -> Workspace:
        """The workspace."""
        return Workspace.open(self.folder / "workspace")

    def line(self, *words: object) -> list[str]:
        """A command of kernelwright."""
        return [sys.executable, "-m", "kernelwright", *map(str, words)]

    def paid(self, *words: object) -> list[str]:
        """A command that runs trials."""
        tasks = [word for task in LADDERS for word in ("--task", task)]
        model = ("--model", "openai/tiny", "-o", f"models.base_url={self.base_url}")
        return self.line(*words, *tasks, *model, *OPTIONS)

    def run(self, name: str, line: Sequence[str]) -> Said:
        """Run to the end; its words are kept beside the workspace."""
        done = subprocess.run(line, capture_output=True, text=True, check=False, env=self._environment())
        (self.folder / f"{name}.txt").write_text(
            f"$ {' '.join(line[2:])}\n{done.stdout}\n{done.stderr}\nexit {done.returncode}\n"
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def kill(self, name: str, line: Sequence[str], when: Callable[[], bool]) -> str:
        """Run until a condition holds, then kill -9; what it had said of its progress."""
        words = self.folder / f"{name}.txt"
        with words.open("w") as stream:
            process = subprocess.Popen(line, stdout=stream, stderr=stream, env=self._environment())
            while process.poll() is None and not when():
                time.sleep(0.2)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
        return words.read_text()

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "KERNELWRIGHT_WORKSPACE": str(self.folder / "workspace")}


@dataclass
class Proof:
    """What happened, for assertions and for people."""

    killed: str
    resumed: Said
    log: Said
    compared: Said
    ablated: Said
    again: Said
    asked_twice: int
    """Answers that the model gave beyond those in the runs' files: at most the one that the kill cut off."""

    def found(self, name: str) -> dict[str, object]:
        """A command's JSON."""
        return dict(json.loads(getattr(self, name).out))


def prove(folder: Path, *, trials: int, screen: bool, kill_after: int = 3, pairs: int = 3) -> Proof:
    """Optimize, killed on the way, go on, look at the history, compare with the seed, ablate the lesson that harms.

    Args:
        folder: for everything; an optimization that lies there is gone on with.
        trials: of the optimization, which asks for two rewrites.
        screen: try the lessons too.
        kill_after: trials before the kill.
        pairs: of the comparison and the ablation.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = KernelModel()
    with OpenAIServer([model]) as server:
        do = Commands(folder, server.base_url)
        place = do.place
        shelf = LessonShelf(place.lessons)
        names = [x.id for x in lessons()]
        if not {x.id for x in shelf.lessons} >= set(names):
            shelf.save_all(lessons())
        chosen = [word for name in names for word in ("--lesson", name)] if screen else ["--no-screen"]
        limits = ("--trials", trials, "--rewrites", 2, "--measurements", 20 * trials)
        plan = do.paid("prompts", "optimize", *limits, *chosen)
        killed = do.kill("killed", plan, lambda: journal_lines(place) > kill_after and in_a_run(place, kill_after))
        resumed = do.run("resumed", [*plan, "--json"])
        log = do.run("log", do.line("prompts", "log"))
        compared = do.run(
            "compared", do.paid("prompts", "compare", seed_of(place), "current", "--pairs", pairs, "--json")
        )
        ablate = do.paid("lessons", "ablate", "static-buffers", "--pairs", pairs, "--json")
        ablated = do.run("ablated", ablate)
        before = len(server.requests)
        again = do.run("again", ablate)
        assert len(server.requests) == before, "what was paid for is not asked again"
        kept = sum(call.state == "answered" for path in place.optimizations.rglob("calls") for call in read_calls(path))
        return Proof(killed, resumed, log, compared, ablated, again, len(server.requests) - kept)


def journal_lines(place: Workspace) -> int:
    """Trials that are written down."""
    return sum(len(file.read_text().splitlines()) for file in place.optimizations.glob("coder-*/journal.jsonl"))


def in_a_run(place: Workspace, done: int) -> bool:
    """True when a trial is in the middle: its coder has answered, its run is not over."""
    trials = [path.parent for path in place.optimizations.glob("coder-*/trials/*/runs/*/calls")]
    return any(
        len(read_calls(run / "calls")) >= 2 and '"finished"' not in (run / "run.json").read_text() for run in trials
    )


def seed_of(place: Workspace) -> str:
    """The first version of the coder's prompt."""
    from kernelwright.promptopt.versions import PromptStore

    return next(iter(PromptStore(place.prompts, "coder").lineage.versions))
