"""The lessons of a workspace: the user's shelf over the shipped one, problems beside them, and every write.

A shipped lesson is copied to the user's shelf before it is changed, where it hides the shipped one. Files that cannot
be used are reported and left exactly as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kernelwright.errors import LibraryError, UnknownName
from kernelwright.memory.knowledge_pages import shipped_pages
from kernelwright.promptopt.lesson_files import LessonProblem, load_folder, save_lesson
from kernelwright.records import Lesson, LessonChange, LessonState
from kernelwright.workspace import now


class LessonShelf:
    """Lessons by id, read once. Not thread-safe."""

    def __init__(self, user: Path, *, shipped: Path | None = None, with_shipped: bool = True) -> None:
        """
        Args:
            user: folder of the workspace's lessons; need not exist.
            shipped: folder of those that come with kernelwright; None means the installed ones.
            with_shipped: False leaves them out.
        """
        self._user = user
        self._shipped = (shipped or shipped_pages("lessons")) if with_shipped else None
        self._lessons: dict[str, Lesson] = {}
        self._files: dict[str, Path] = {}
        self.problems: list[LessonProblem] = []
        self.reload()

    def reload(self) -> None:
        """Read all files again."""
        self._lessons, self._files, self.problems = {}, {}, []
        for root in (self._shipped, self._user):
            lessons, problems = load_folder(root)
            self.problems += problems
            for problem in problems:  # a broken copy of the user's must not let the shipped one back in
                self._lessons.pop(problem.file.stem, None)
            for lesson in lessons:
                assert root is not None
                self._lessons[lesson.id] = lesson
                self._files[lesson.id] = root / f"{lesson.id}.yaml"

    @property
    def lessons(self) -> list[Lesson]:
        """All usable lessons, by id."""
        return [self._lessons[id] for id in sorted(self._lessons)]

    @property
    def active(self) -> list[Lesson]:
        """Those that prompts may show."""
        return [lesson for lesson in self.lessons if lesson.state is LessonState.ACTIVE]

    def get(self, id: str) -> Lesson:
        """A lesson by its id or an unambiguous start of it.

        Raises:
            LibraryError: its file cannot be used.
            UnknownName: there is none, or several.
        """
        for problem in self.problems:
            if problem.file.stem == id:
                raise LibraryError(problem.message, hint="correct the file by hand, or delete it")
        match = [i for i in self._lessons if i == id] or [i for i in self._lessons if i.startswith(id)]
        if len(match) != 1:
            raise UnknownName("lesson", id, match or self._lessons)
        return self._lessons[match[0]]

    def file(self, id: str) -> Path:
        """Where a lesson lies."""
        return self._files[self.get(id).id]

    def save(self, lesson: Lesson) -> Path:
        """Write a lesson to the user's shelf.

        Raises:
            LibraryError: an unusable file of that name lies there; it is not overwritten.
        """
        for problem in self.problems:
            if problem.file.stem == lesson.id and problem.file.parent == self._user:
                raise LibraryError(f"{problem.file} cannot be read and is not overwritten", hint=problem.message)
        file = save_lesson(lesson, self._user)
        self._lessons[lesson.id], self._files[lesson.id] = lesson, file
        return file

    def save_all(self, lessons: Iterable[Lesson]) -> int:
        """Write those that differ from what is on the shelves.

        Returns:
            How many were written.
        """
        changed = [lesson for lesson in lessons if self._lessons.get(lesson.id) != lesson]
        for lesson in changed:
            self.save(lesson)
        return len(changed)


def moved(lesson: Lesson, state: LessonState, *, reason: str, by: str, at: str = "") -> Lesson:
    """The lesson in another state, with a line in its history."""
    change = LessonChange(at=at or now(), what=f"{lesson.state.value} -> {state.value}", reason=reason, by=by)
    return lesson.model_copy(update={"state": state, "history": (*lesson.history, change)})


def noted(lesson: Lesson, what: str, *, reason: str, by: str, at: str = "") -> Lesson:
    """The lesson with a line in its history."""
    change = LessonChange(at=at or now(), what=what, reason=reason, by=by)
    return lesson.model_copy(update={"history": (*lesson.history, change)})
