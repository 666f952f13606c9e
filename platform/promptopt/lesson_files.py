"""The format of lessons/<id>.yaml: file -> Lesson with a clear word on every mistake, and back.

A file that cannot be used becomes a problem beside the others; it is never applied and never touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernelwright.errors import LibraryError
from kernelwright.memory import yaml_text
from kernelwright.promptopt.screening import complaints
from kernelwright.records import Lesson
from kernelwright.workspace import disk_errors

ORDER = (
    "format", "id", "state", "roles", "when", "do", "avoid", "technique", "scope", "expires", "evidence", "effect",
    "origin", "history",
)  # fmt: skip
"""Keys of a file, top down: what people read and edit comes first."""


@dataclass(frozen=True)
class LessonProblem:
    """A lesson that is not used, and why."""

    file: Path
    kind: str
    """``broken`` (cannot be read) or ``poisoned`` (says what no lesson may say)."""
    message: str


def load_lesson(file: Path) -> Lesson:
    """Read one lesson; its file name is its id.

    Raises:
        LibraryError: unreadable or with a wrong field; file and field are named.
    """
    data = yaml_text.read(file)
    if "format" not in data:
        raise LibraryError(f"{file}: field format: is missing", hint=f"begin with format: {Lesson.format_name()}")
    try:
        lesson = Lesson.from_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(p) for p in first["loc"]) or "lesson"
        raise LibraryError(f"{file}: field {field}: {first['msg']}") from None
    except ValueError as error:
        raise LibraryError(f"{file}: {error}") from None
    if lesson.id != file.stem:
        raise LibraryError(f"{file}: field id: {lesson.id!r} differs from the file's name {file.stem!r}")
    return lesson


def load_folder(root: Path | None) -> tuple[list[Lesson], list[LessonProblem]]:
    """All lessons of a folder by id; a broken or poisoned file becomes a problem, the others stay.

    Args:
        root: None, or a folder that need not exist.
    """
    lessons: list[Lesson] = []
    problems: list[LessonProblem] = []
    for file in sorted(root.glob("*.yaml")) if root else ():
        try:
            lesson = load_lesson(file)
        except LibraryError as error:
            problems.append(LessonProblem(file, "broken", str(error)))
            continue
        wrong = complaints(lesson)
        if wrong:
            problems.append(LessonProblem(file, "poisoned", f"{file}: {'; '.join(wrong)}"))
        else:
            lessons.append(lesson)
    return lessons, problems


def lesson_text(lesson: Lesson) -> str:
    """The file's text: no defaults, keys in the order of :data:`ORDER`."""
    data = {"format": lesson.format_name(), **_plain(lesson)}
    return yaml_text.dump({key: data[key] for key in ORDER if key in data})


def save_lesson(lesson: Lesson, root: Path) -> Path:
    """Write a lesson whole or not at all.

    Returns:
        Its file.
    """
    with disk_errors(root):
        root.mkdir(parents=True, exist_ok=True)
    file = root / f"{lesson.id}.yaml"
    yaml_text.replace_text(file, lesson_text(lesson))
    return file


def _plain(lesson: Lesson) -> dict[str, Any]:
    always = {"id": lesson.id, "state": lesson.state.value, "roles": list(lesson.roles), "when": lesson.when}
    return {**lesson.model_dump(mode="json", exclude_defaults=True), **always}
