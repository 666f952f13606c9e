"""Language halide: what build refuses, what the worker's kernel does, and the file that is taken home."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from search.references import Lambda, task_facts
from torch import nn

from kernelwright.protocols import Language
from kernelwright.records import Candidate, Directive, SourceFile, Status, Task
from kernelwright.search.schedule_space import PipelineSpace
from kernelwright.toolexec.judge.rejection import STATUS_OF
from kernelwright.toolexec.languages.halide import HalideLanguage
from kernelwright.toolexec.workers.kernel import KernelError, LoadSpec, TensorSpec, load

LANGUAGE = HalideLanguage()


def begun(module, *arguments, recipe=None):
    """Facts and the start candidate (or a recipe applied to it)."""
    facts = task_facts(module, list(arguments))
    space = PipelineSpace()
    candidate = space.start(facts)
    if recipe is not None:
        candidate = space.apply(candidate, recipe)
    assert candidate is not None, space.refusal
    return facts, candidate


def built(candidate, facts, folder):
    return LANGUAGE.build(candidate, facts, workload="default", folder=folder, timeout_s=10)


def spec_of(facts, artifact, **options):
    kinds = {
        k: tuple(TensorSpec(a.name, a.dtype, a.shape) for a in facts.workloads[0].of_kind(k))
        for k in ("input", "parameter", "output")
    }
    return LoadSpec("pipeline", "halide", str(artifact), kinds["input"], kinds["parameter"], kinds["output"], **options)


def with_file(candidate, path, text):
    rest = tuple(f for f in candidate.files if f.path != path)
    return candidate.model_copy(update={"files": (*rest, SourceFile(path=path, text=text))})


def test_it_keeps_the_protocol_without_importing_halide():
    assert isinstance(LANGUAGE, Language)
    assert LANGUAGE.availability().ok
    code = (
        "import sys; from kernelwright.toolexec.languages.halide import HalideLanguage as H; H().availability();"
        "assert 'halide' not in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "vectorize_reduction" in LANGUAGE.guide()


def test_a_kernel_serves_several_slots_and_rewritten_inputs(tmp_path):
    module = nn.Linear(20, 30)
    facts, candidate = begun(module, torch.randn(7, 20))
    done = built(candidate, facts, tmp_path)
    assert done.ok, done.log
    assert built(candidate, facts, tmp_path).cached
    kernel = load(spec_of(facts, done.artifact))
    kernel.set_weights([t.detach().numpy() for t in module.state_dict().values()])
    assert kernel.prepare() is False
    inputs = [np.zeros((7, 20), np.float32) for _ in range(2)]
    for slot, array in enumerate(inputs):
        kernel.bind(slot, [array])
        kernel.poison(slot, 0xFF)
    rng = np.random.default_rng(0)
    for _ in range(2):
        for slot, array in enumerate(inputs):
            array[...] = rng.standard_normal(array.shape)
            kernel.run(slot)
        for slot, array in enumerate(inputs):
            want = module(torch.from_numpy(array)).detach().numpy()
            np.testing.assert_allclose(kernel.collect(slot)[0], want, rtol=1e-5, atol=1e-6)


def test_read_only_inputs_booleans_and_scalars(tmp_path):
    module = Lambda(lambda a, b: ((a > 0) & b, a.sum()))
    a, b = torch.randn(4, 9), torch.randn(4, 9) > 0
    facts, candidate = begun(module, a, b)
    kernel = load(spec_of(facts, built(candidate, facts, tmp_path).artifact))
    kernel.set_weights([])
    arrays = [a.numpy().copy(), b.numpy().copy()]
    for array in arrays:
        array.flags.writeable = False
    kernel.bind(0, arrays)
    kernel.run(0)
    mask, total = kernel.collect(0)
    assert mask.dtype == np.bool_ and total.shape == ()
    np.testing.assert_array_equal(mask, ((a > 0) & b).numpy())
    np.testing.assert_allclose(total, a.sum().numpy(), rtol=1e-5, atol=1e-6)


def test_what_depends_on_weights_alone_can_be_prepared(tmp_path):
    module = nn.Linear(20, 32, bias=False)
    facts, start = begun(module, torch.randn(8, 20))
    funcs = json.loads(start.text("algorithm.json"))["workloads"]["default"]["funcs"]
    name = next(f["name"] for f in funcs if f["name"].endswith("_b"))
    _, candidate = begun(module, torch.randn(8, 20), recipe=[Directive(func=name, verb="precompute")])
    kernel = load(spec_of(facts, built(candidate, facts, tmp_path).artifact))
    kernel.set_weights([module.weight.detach().numpy()])
    assert kernel.prepare() is True
    x = torch.randn(8, 20)
    kernel.bind(0, [x.numpy()])
    kernel.run(0)
    np.testing.assert_allclose(kernel.collect(0)[0], module(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    wrong = [Directive(func=name.removesuffix("_b") + "_a", verb="precompute")]
    _, candidate = begun(module, torch.randn(8, 20), recipe=wrong)
    with pytest.raises(KernelError, match="not weights alone"):
        load(spec_of(facts, built(candidate, facts, tmp_path).artifact))


SCHEDULE = '{"format": "kernelwright/schedule/1", "directives": [%s]}'
BROKEN = {
    "no json": ("schedule.json", "{", "no JSON"),
    "other format": ("schedule.json", '{"format": "kernelwright/task/1"}', "must be of format"),
    "no func": ("schedule.json", SCHEDULE % '{"func": "nobody", "verb": "inline"}', "no Func 'nobody'"),
    "tunable": ("schedule.json", SCHEDULE % '{"func": "relu", "verb": "vectorize", "args": ["x", "$N"]}', "declared"),
    "field": ("schedule.json", SCHEDULE % '{"func": "relu", "verb": "inline", "wish": 1}', "wish"),
    "workload": ("algorithm.json", '{"format": "kernelwright/algorithm/1", "workloads": {}}', "no workload"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_build_says_what_is_wrong(case, tmp_path):
    facts, candidate = begun(Lambda(torch.relu), torch.randn(4, 40))
    path, text, said = BROKEN[case]
    done = built(with_file(candidate, path, text), facts, tmp_path)
    assert not done.ok and said in done.log


def test_build_refuses_an_algorithm_for_another_border(tmp_path):
    facts, _ = begun(Lambda(torch.relu), torch.randn(4, 40))
    _, other = begun(Lambda(torch.relu), torch.randn(4, 41))
    done = built(other, facts, tmp_path)
    assert not done.ok and "the reference takes" in done.log


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"func": "softmax", "verb": "vectorise", "args": ["x", 8]}, "unknown verb"),
        ({"func": "softmax", "verb": "vectorize", "args": ["q", 8]}, "no loop 'q'"),
        ({"func": "softmax", "verb": "split", "args": ["x"]}, "split"),
        ({"func": "softmax_sum", "verb": "compute_at", "args": ["softmax", "xo"]}, "no loop 'xo'"),
        ({"func": "softmax_sum", "verb": "inline", "args": []}, "compile"),
        ({"func": "softmax", "verb": "vectorize", "args": ["x", 8], "stage": 4}, "no stage 4"),
    ],
)
def test_an_impossible_schedule_is_an_error_not_a_crash(row, said, tmp_path):
    facts, candidate = begun(Lambda(lambda t: F.softmax(t, -1)), torch.randn(4, 40))
    text = json.dumps({"format": "kernelwright/schedule/1", "directives": [row]})
    done = built(with_file(candidate, "schedule.json", text), facts, tmp_path)
    assert done.ok, done.log
    if said == "compile":  # Halide may accept it; it must not crash either way
        return
    with pytest.raises(KernelError, match=said) as caught:
        load(spec_of(facts, done.artifact))
    assert STATUS_OF[caught.value.kind] is Status.COMPILE_ERROR


def test_factors_beyond_a_loop_shrink_and_inputs_are_never_left(tmp_path):
    """Vectors wider than rows, tiles larger than images, producers that would read beyond the input."""
    module = Lambda(lambda t: F.softmax(F.avg_pool1d(t[None], 3, 1)[0], -1))
    recipe = [
        Directive(func="@output", verb="split", args=("x", "xo", "xi", 512)),
        Directive(func="@output", verb="vectorize", args=("xi", 64)),
        Directive(func="@rowstats", verb="compute_at", args=("@output", "y")),
        Directive(func="@rowstats", verb="vectorize_reduction", args=("r", 64, 8)),
        Directive(func="@pools", verb="compute_root"),
        Directive(func="@pools", verb="vectorize", args=("x", 16)),
    ]
    x = torch.randn(3, 21)
    facts, candidate = begun(module, x, recipe=recipe)
    kernel = load(spec_of(facts, built(candidate, facts, tmp_path).artifact))
    kernel.set_weights([])
    kernel.bind(0, [x.numpy()])
    kernel.run(0)
    np.testing.assert_allclose(kernel.collect(0)[0].reshape(3, 19), module(x).numpy(), rtol=1e-5, atol=1e-6)


REFERENCE = """
import torch
import torch.nn as nn

rows = 9
TYPES = 3  # a name that the embedded code uses too


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, 20)

    def forward(self, x):
        return torch.relu(self.linear(self.norm(x))), x.sum(1) * TYPES


def get_inputs():
    return [torch.randn(rows, 40)]


def get_init_inputs():
    return [40]
"""

RUN = """
import sys, types
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "kernelwright":
            raise ImportError("an export must not need kernelwright")
sys.meta_path.insert(0, Refuse())
import torch
import importlib.util
spec = importlib.util.spec_from_file_location("taken_home", sys.argv[1])
module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)
torch.manual_seed(1)
old, new = module.Model(*module.get_init_inputs()).eval(), module.ModelNew(*module.get_init_inputs()).eval()
for _ in range(2):
    for p in old.parameters():
        torch.nn.init.normal_(p)
    new.load_state_dict(old.state_dict())
    inputs = module.get_inputs()
    for want, got in zip(old(*inputs), new(*inputs), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
try:
    new(torch.randn(3, 3))
except RuntimeError as error:
    assert "made for inputs" in str(error)
print("same")
"""


@pytest.mark.parametrize("prepared", [False, True])
def test_the_file_taken_home_runs_without_kernelwright(prepared, tmp_path):
    namespace = {}
    exec(REFERENCE, namespace)
    recipe = [Directive(func="@rowstats", verb="rows", args=("$LANES", 2, 64))]
    if prepared:
        recipe.append(Directive(func="addmm_product_b", verb="precompute"))
    facts, candidate = begun(namespace["Model"](40), *namespace["get_inputs"](), recipe=recipe)
    task = Task(name="norm_linear", reference=REFERENCE, licence="Apache-2.0", source="a test")
    target = tmp_path / "taken_home.py"
    target.write_text(LANGUAGE.export(candidate, task, facts), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", RUN, str(target)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "same" in done.stdout


def test_a_candidate_needs_its_files(tmp_path):
    facts, candidate = begun(Lambda(torch.relu), torch.randn(4, 40))
    lone = Candidate(language="halide", entry="pipeline", entry_file="schedule.json", files=(candidate.files[1],))
    done = built(lone, facts, tmp_path)
    assert not done.ok and "algorithm.json" in done.log
