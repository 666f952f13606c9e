"""Disturbed measurements: made once more, never a reason for a verdict or for the best so far."""

from agents.loop import TextExecutor, TextSession, decisions_json, kernel
from agents.test_model_loop import Model, go
from agents.test_model_loop import key as key  # noqa: F401 - a fixture

from kernelwright.records import Depth, Ratio


class Noisy(TextSession):
    """The first ``bad`` full judgements of a kernel with NOISE in it, and comparisons of it, have wide intervals."""

    bad = 1

    def compare(self, candidate, other, *, depth):
        self.depths = [*getattr(self, "depths", []), depth]
        return super().compare(candidate, other, depth=depth)

    def _judged(self, candidate, other_us, against, depth):
        found = super()._judged(candidate, other_us, against, depth)
        screened = depth is Depth.SCREEN and against == "compile"
        if "NOISE" not in candidate.files[0].text or found.speedup is None or screened:
            return found
        kind = (candidate.id, against)
        self.seen = getattr(self, "seen", {})
        self.seen[kind] = self.seen.get(kind, 0) + 1
        if self.seen[kind] > self.bad:
            return found
        ratio = found.speedup
        wide = Ratio(value=ratio.value, low=ratio.value / 3, high=ratio.value * 3, pairs=4, against=against)
        return found.model_copy(update={"speedup": wide})


def executor(bad):
    class Executor(TextExecutor):
        def open(self, task, **_):
            self.sessions.append(Noisy(task, {}))
            self.sessions[-1].bad = bad
            return self.sessions[-1]

    return Executor()


def two_rounds(tmp_path, judge):
    plans = [decisions_json("one"), decisions_json("two", technique="t2", start_from="best")]
    model = Model(planner=plans, coder=[kernel("us=100"), kernel("NOISE us=50")])
    return go(tmp_path, model, executor=judge, budget__rounds=2)


def test_a_disturbed_comparison_is_made_once_more(tmp_path):
    judge = executor(bad=1)
    summary, folder = two_rounds(tmp_path, judge)
    assert judge.sessions[0].depths == [Depth.SCREEN, Depth.FULL]
    decision = folder.decisions()[1]
    assert decision.verdict == "confirmed" and decision.measured.against == decision.parent
    assert not decision.measured.disturbed and summary.best_candidate == decision.child
    full = [e for e in folder.evaluations(decision.child) if e.depth is Depth.FULL]
    assert len(full) == 2 and [e.speedup.disturbed for e in full] == [True, False]


def test_what_stays_disturbed_decides_nothing_and_does_not_lead(tmp_path):
    _, folder = two_rounds(tmp_path, executor(bad=9))
    first, second = folder.decisions()
    assert (second.verdict, second.measured) == ("neutral", None) and "not decidable" in second.learned
    led = [e.data["candidate"] for e in folder.events() if e.kind == "best"]
    assert led == [first.child]  # 4.4x, give or take a factor of 3, does not lead before 2.2x
    full = [e for e in folder.evaluations(second.child) if e.depth is Depth.FULL]
    assert len(full) == 2
