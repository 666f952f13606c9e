"""What the module entry accepts as a result; all in one worker process, as importing torch costs a second."""

import numpy as np
import pytest
from fakes.kernels import module

from kernelwright.toolexec.judge.contestant import Contestant
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.workers.kernel import LoadSpec, TensorSpec

X = np.linspace(-1, 1, 33 * 97, dtype=np.float32).reshape(33, 97)
WEIGHTS = [np.full(97, 2.0, np.float32), np.full(97, 0.25, np.float32)]


@pytest.fixture(scope="module")
def worker():
    pool = WorkerPool(threads=1, memory_limit_gib=8)
    yield pool.take("torch")
    pool.close()


@pytest.fixture
def hosted(worker, tmp_path):
    """Loads a forward's body under a new key and runs it once."""

    def host(forward: str, **parts: str) -> list[np.ndarray]:
        path = tmp_path / "kernel.py"
        path.write_text(module(forward, **parts).files[0].text)
        f32 = "float32"
        spec = LoadSpec(
            entry="module",
            language="torch",
            artifact=str(path),
            inputs=(TensorSpec("x", f32, (33, 97)),),
            parameters=(TensorSpec("weight", f32, (97,)), TensorSpec("bias", f32, (97,))),
            outputs=(TensorSpec("output0", f32, (33, 97)),),
            init_args=(1.5,),
        )
        contestant = Contestant("k", worker, tmp_path.name, spec, trusted=False)
        contestant.load()
        contestant.set_weights(WEIGHTS)
        contestant.prepare()
        contestant.ensure_slots(1)
        contestant.arm([0])
        contestant.fill(0, [X])
        contestant.go()
        return contestant.collect([0])[0]

    return host


def test_a_right_module_gets_its_weights_and_inputs(hosted):
    assert np.allclose(hosted("        return right")[0], np.maximum(X * 2 * 1.5 + 0.25, 0))


def test_a_result_that_is_not_contiguous_is_copied(hosted):
    got = hosted("        return right.t().contiguous().t()")[0]
    assert np.allclose(got, np.maximum(X * 3 + 0.25, 0))


@pytest.mark.parametrize(
    ("forward", "kind"),
    [
        ("        return right.double()", "dtype"),
        ("        return right[:-1]", "shape"),
        ("        return right, right", "shape"),
        ("        return None", "runtime"),
        ("        raise ValueError('not today')", "runtime"),
        ("        return nn.Parameter(right)", "cheated"),
        ("        return x", "cheated"),
        ("        return x[1:]", "cheated"),
        ("        return right[:1].expand(33, 97)", "cheated"),
        ("        return right.to('meta')", "runtime"),
        ("        return right.to_sparse()", "runtime"),
    ],
)
def test_what_is_no_honest_result_is_refused(hosted, forward, kind):
    with pytest.raises(WorkerFailure) as caught:
        hosted(forward)
    assert caught.value.kind == kind, caught.value.message


def test_a_subclass_with_work_left_is_refused(hosted):
    lazy = "class Lazy(torch.Tensor):\n    pass\n"
    with pytest.raises(WorkerFailure, match="plain torch.Tensor"):
        hosted("        return right.as_subclass(Lazy)", before=lazy)


def test_missing_parameters_are_named(hosted):
    with pytest.raises(WorkerFailure, match="must keep the reference's parameters and buffers.*bias"):
        hosted("        return right", body="        del self.bias\n")


def test_no_module_records_gradients(hosted):
    """With them, baselines would be slower than people run them, and never be frozen."""
    got = hosted("        return right * 0 + float(torch.is_grad_enabled() or right.requires_grad)")
    assert not got[0].any()
    assert not hosted("        return right * 0 + (not torch.is_inference_mode_enabled())")[0].any()
