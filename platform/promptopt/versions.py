"""prompts/<role>/: versions as files made for git, and which one is in use.

A version is a base text and the hash of the active lesson set. Whatever changes that set makes a new version with its
reason; proposals that were rejected are kept beside the accepted ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from kernelwright.errors import UserError
from kernelwright.promptopt.lineage import MARK, Lineage, base_of, read_lineage, text_hash
from kernelwright.promptopt.screening import MAX_PROMPT, text_complaints
from kernelwright.promptopt.selection import lessons_block
from kernelwright.records import Lesson, PromptEvent, PromptScore, PromptVersion, lesson_set_hash
from kernelwright.workspace import append_line, disk_errors, now

Origin = Literal["seed", "lesson-state", "optimizer", "user"]


class PromptStore:
    """The versions of one role. Not thread-safe; lines of several processes do not mix."""

    def __init__(self, root: Path, role: str) -> None:
        """
        Args:
            root: the workspace's prompts folder.
            role: e.g. ``coder``.
        """
        self.role, self.folder = role, root / role
        self.lineage: Lineage = read_lineage(self.folder)

    @property
    def current(self) -> PromptVersion | None:
        """The version in use; None before the first one."""
        return self.lineage.versions.get(self.lineage.current)

    def get(self, id: str) -> PromptVersion:
        """A version by its id, an unambiguous start of it, or ``current``.

        Raises:
            UserError: there is none, several, or it cannot be used.
        """
        from kernelwright.errors import UnknownName

        if id == "current" and self.current is not None:
            return self.current
        lineage = self.lineage
        if id in lineage.broken:
            told = next(p.message for p in lineage.problems if p.message.startswith(id))
            raise UserError(told, hint=f"see {self.folder / 'lineage.jsonl'}")
        match = [i for i in lineage.versions if i == id] or [i for i in lineage.versions if i.startswith(id)]
        if len(match) != 1:
            raise UnknownName(f"{self.role} prompt version", id, match or lineage.versions)
        return lineage.versions[match[0]]

    def base(self, id: str) -> str:
        """The base text of a version."""
        return base_of(self.text(id))

    def text(self, id: str) -> str:
        """The whole file of a version: base text and the lessons that were active."""
        with disk_errors(self.folder):
            return (self.folder / f"{self.get(id).id}.md").read_text(encoding="utf-8")

    def add(
        self,
        base: str,
        lessons: Sequence[Lesson],
        *,
        parent: str,
        origin: Origin,
        reason: str,
        more: Mapping[str, Any] | None = None,
    ) -> PromptVersion:
        """Keep a version; the same one again changes nothing, but that one once rejected may be accepted later.

        Args:
            base: the text.
            lessons: the active set, or what a proposal shows.
            parent: id; "" for a seed.
            origin: who made it.
            reason: why, for people.
            more: further fields: state, rejected_because, feedback, session, scores.
        """
        hashes = {x.id: x.text_hash for x in sorted(lessons, key=lambda x: x.id)}
        base_hash = text_hash(base)
        id = PromptVersion.identity(role=self.role, parent=parent, base_hash=base_hash, lessons=hashes)
        known = self.lineage.versions.get(id)
        if known is not None:
            if known.state != "rejected" or (more or {}).get("state") != "accepted":
                return known
            reason += f" (rejected before: {known.rejected_because})"
        fields: dict[str, Any] = {"id": id, "role": self.role, "parent": parent, "base_hash": base_hash, **(more or {})}
        fields |= {"lessons": hashes, "lesson_set": lesson_set_hash(hashes) if hashes else ""}
        block = lessons_block(sorted(lessons, key=lambda x: x.id))
        shown = f" {fields['lesson_set']} -->\n\n{block}\n" if block else ""
        fields["shown_hash"] = text_hash(shown) if shown else ""
        version = PromptVersion(**fields, origin=origin, reason=reason, created_at=now())
        self._write(version, base, shown)
        return version

    def promote(self, id: str, *, reason: str, by: str = "") -> PromptVersion:
        """Use a version from now on.

        Raises:
            UserError: it was rejected, or says what no prompt may say.
        """
        version = self._usable(id)
        wrong = text_complaints(self.base(version.id), limit=MAX_PROMPT)
        if wrong:
            raise UserError(f"{version.id} is not promoted: {'; '.join(wrong)}")
        self._event("promoted", version.id, previous=self.lineage.current, reason=reason, by=by)
        return version

    def roll_back(self, *, reason: str, to: str = "", by: str = "") -> PromptVersion:
        """Use the version from before, or an earlier one.

        Raises:
            UserError: there is nothing to go back to, or it was rejected.
        """
        before = self.lineage.in_use
        if not to and len(before) < 2:
            raise UserError(f"the {self.role} prompt has no earlier version in use to go back to")
        version = self._usable(to or before[-2])
        self._event("rolled-back", version.id, previous=self.lineage.current, reason=reason, by=by)
        return version

    def score(self, id: str, score: PromptScore, *, reason: str) -> None:
        """Keep a later score of a version."""
        self._event("scored", self.get(id).id, reason=reason, score=score)

    def follow(self, lessons: Sequence[Lesson], *, reason: str, seed: str = "") -> PromptVersion | None:
        """A new version in use where the role's active lessons are not those of the one in use.

        Args:
            lessons: all active ones.
            reason: what changed, for people.
            seed: the base text where there is no version yet; "" means the shipped one.

        Returns:
            The new version; None when nothing changed or there is no text.
        """
        mine = [x for x in lessons if self.role in x.roles]
        wanted = {x.id: x.text_hash for x in sorted(mine, key=lambda x: x.id)}
        version = self.current or (self.started(seed) if wanted else None)
        if version is None or version.lessons == wanted:
            return None
        base, more = self.base(version.id), {"state": "accepted"}
        made = self.add(base, mine, parent=version.id, origin="lesson-state", reason=reason, more=more)
        self.promote(made.id, reason=reason, by="rules")
        return made

    def started(self, seed: str = "") -> PromptVersion | None:
        """The first version in use, from a text or the shipped one; None when there is no text."""
        base = seed or seed_text(self.role)
        if not base:
            return None
        more = {"state": "accepted"}
        version = self.add(base, (), parent="", origin="seed", reason="the shipped text", more=more)
        self.promote(version.id, reason="first use", by="rules")
        return version

    def _usable(self, id: str) -> PromptVersion:
        version = self.get(id)
        if version.state == "rejected":
            why = f"{version.id} was rejected: {version.rejected_because}"
            raise UserError(why, hint="export it, change it, and promote the file instead")
        return version

    def _write(self, version: PromptVersion, base: str, shown: str) -> None:
        text = base.replace("\r\n", "\n").strip() + "\n"
        text += f"\n{MARK}{shown}" if shown else ""
        with disk_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{version.id}.md").write_text(text, encoding="utf-8")
        append_line(self.folder / "lineage.jsonl", version.to_line())
        self.lineage.versions[version.id] = version

    def _event(self, kind: Literal["promoted", "rolled-back", "scored"], version: str, **more: Any) -> None:
        event = PromptEvent(at=now(), kind=kind, version=version, **more)
        append_line(self.folder / "lineage.jsonl", event.to_line())
        self.lineage.events.append(event)


def follow_all(root: Path, lessons: Sequence[Lesson], *, reason: str) -> list[PromptVersion]:
    """New versions of every role whose active lessons changed; see :meth:`PromptStore.follow`."""
    made = (PromptStore(root, role).follow(lessons, reason=reason) for role in roles(root))
    return [version for version in made if version is not None]


def seed_text(role: str) -> str:
    """The shipped base text of a role; "" when there is none."""
    file = resources.files("kernelwright").joinpath("agents", "prompts", f"{role}.md")
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def of_file(store: PromptStore, file: Path, lessons: Sequence[Lesson], *, reason: str) -> PromptVersion:
    """A version of a text that a person edited, with the lessons that are active.

    Raises:
        UserError: it cannot be read or says what no prompt may say.
    """
    try:
        text = base_of(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {file}: {error}") from None
    wrong = text_complaints(text, limit=MAX_PROMPT)
    if wrong or len(text.split()) < 5:
        raise UserError(f"{file}: {'; '.join(wrong) or 'fewer than five words are no prompt'}")
    version = store.current or store.started()
    mine = [x for x in lessons if store.role in x.roles]
    more = {"state": "accepted"}
    parent = version.id if version else ""
    return store.add(text, mine, parent=parent, origin="user", reason=reason, more=more)


def export_version(store: PromptStore, id: str, lessons: Sequence[Lesson], into: Path) -> list[Path]:
    """Write a version into a folder: its text with the lessons as it showed them, its record, the lessons' files.

    Returns:
        The files.
    """
    from kernelwright.promptopt.lesson_files import save_lesson

    version = store.get(id)
    with disk_errors(into):
        into.mkdir(parents=True, exist_ok=True)
        text, record = into / f"{store.role}.md", into / f"{store.role}.json"
        text.write_text(store.text(version.id), encoding="utf-8")
        version.save(record)
    kept = [x for x in lessons if x.id in version.lessons]
    return [text, record, *(save_lesson(x, into / "lessons") for x in kept)]


def roles(root: Path) -> list[str]:
    """Roles that have versions or a shipped text."""
    own = [p.parent.name for p in root.glob("*/lineage.jsonl")]
    folder = resources.files("kernelwright").joinpath("agents", "prompts")
    shipped = [p.name.removesuffix(".md") for p in folder.iterdir()] if folder.is_dir() else []
    return sorted({*own, *(name for name in shipped if name != "README" and "." not in name)})
