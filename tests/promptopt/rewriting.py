"""A scripted reflection for the simulated world: it knows the principles, not their effects, as a model would guess."""

from __future__ import annotations

import random

from promptopt.world import World

from kernelwright.promptopt.trials import ProposalRequest, ProposedText


class GuessingProposer:
    """Adds a principle that the text lacks, or now and then drops one that it has."""

    def __init__(self, world: World, *, dropping: float = 0.2) -> None:
        self._texts = [p.text for p in world.principles]
        self._dropping, self._source = dropping, random.Random(world.seed)

    def propose(self, request: ProposalRequest) -> ProposedText:
        inside = [t for t in self._texts if t in request.base]
        outside = [t for t in self._texts if t not in request.base]
        if inside and (not outside or self._source.random() < self._dropping):
            return ProposedText(request.base.replace(" " + self._source.choice(inside), ""), reason="dropped one")
        return ProposedText(f"{request.base} {self._source.choice(outside)}", reason="added one")

    def recorded(self, request: ProposalRequest) -> None:
        return None
