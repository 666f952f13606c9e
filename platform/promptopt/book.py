"""LearnedPrompts: what a run's roles are told: the version in use, with the lessons that fit the task at hand.

The lessons and versions are read once, when the run starts, so that a whole run follows the same ones; what a role was
shown, and what was left out at random, is recorded before the prompt is sent.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kernelwright.agents.llm.prompt_book import PromptUsed, seed_prompt
from kernelwright.promptopt.draws import record_draw
from kernelwright.promptopt.scope import Situation, architecture_of, toolchains_of
from kernelwright.promptopt.selection import BUDGET_TOKENS, HOLD_OUT, Selector, assembled
from kernelwright.promptopt.shelves import LessonShelf
from kernelwright.promptopt.versions import PromptStore
from kernelwright.protocols import Knowledge
from kernelwright.records import Environment, LessonDraw
from kernelwright.workspace import RunFolder, Workspace

if TYPE_CHECKING:
    from kernelwright.agents.context import Roles
    from kernelwright.agents.llm.desk import ModelDesk

log = logging.getLogger(__name__)


class LearnedPrompts:
    """A PromptBook over the workspace's versions and lessons. Not thread-safe."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        folder: RunFolder | None = None,
        device: str = "cpu",
        budget_tokens: int = BUDGET_TOKENS,
        hold_out: float = HOLD_OUT,
    ) -> None:
        """
        Args:
            workspace: whose prompts and lessons.
            folder: of the run; draws go there. None: see :meth:`joined`.
            device: kind of device.
            budget_tokens: of the lessons in a prompt; 0 shows none.
            hold_out: probability with which a lesson is left out.
        """
        self._root, self._lessons, self._folder = workspace.prompts, workspace.lessons, folder
        self._device = device.partition(":")[0]
        self._machine: Environment | None = None
        self._budget, self._hold_out = budget_tokens, hold_out
        self._desk: ModelDesk | None = None
        self._stores: dict[str, PromptStore] = {}
        self._recorded: set[LessonDraw] = set()
        self._selector: Selector | None = None

    def joined(self, roles: Roles) -> Roles:
        """Follow the roles' desk: the run that it is bound to is the one that draws belong to."""
        self._desk = roles.models
        return roles

    def _run(self) -> RunFolder:
        if self._folder is None:
            assert self._desk is not None, "joined() comes first"
            self._folder = RunFolder(self._desk.ledger.folder.parent)
        return self._folder

    def _ranked(self) -> Selector:
        """The active lessons; read when first asked for, and then kept for the whole run."""
        if self._selector is None:
            shelf = LessonShelf(self._lessons)
            for problem in shelf.problems:
                log.warning("lesson left out: %s", problem.message)
            self._selector = Selector(shelf.lessons)
        return self._selector

    def prompt(self, role: str, knowledge: Knowledge) -> PromptUsed:
        """The prompt of a role for what is known at this point of a run."""
        if role not in self._stores:
            self._stores[role] = PromptStore(self._root, role)
            for problem in self._stores[role].lineage.problems:
                log.warning("prompt version left out: %s", problem.message)
        store = self._stores[role]
        version = store.current
        base = store.base(version.id) if version is not None else seed_prompt(role).text
        selection = self._ranked().select(
            self._situation(knowledge),
            role=role,
            call=self._run().run_id,
            block=knowledge.task.id,
            budget_tokens=self._budget,
            hold_out=self._hold_out,
        )
        used = version.id if version is not None else seed_prompt(role).version
        draw = selection.draw.model_copy(update={"version": used})
        if draw not in self._recorded and (draw.shown or draw.left_out):
            self._recorded.add(draw)
            record_draw(self._run(), draw)
        return PromptUsed(assembled(base, selection).strip(), used, draw.shown)

    def _situation(self, knowledge: Knowledge) -> Situation:
        machine = self._environment()
        return Situation(
            family=knowledge.task.family,
            device=self._device,
            languages=tuple(knowledge.languages),
            dtypes=tuple(sorted({spec.dtype for spec in knowledge.task.inputs})),
            bottleneck=knowledge.profile.bottleneck if knowledge.profile is not None else "",
            architecture=architecture_of(machine),
            toolchains=toolchains_of(machine),
        )

    def _environment(self) -> Environment:
        """The run's machine and versions, which the run writes down before it asks anybody; empty when it did not."""
        if self._machine is None:
            try:
                self._machine = Environment.load(self._run().environment_file)
            except (OSError, ValueError) as error:
                log.info("lessons for an architecture or a toolchain are left out: %s", error)
                return Environment()
        return self._machine
