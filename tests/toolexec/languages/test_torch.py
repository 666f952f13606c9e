"""torch: the contract, and tunables in the file."""

import pytest
from contracts.language import FACTS, LanguageContract
from fakes.kernels import RIGHT_MODULE, module, small_task

from kernelwright.errors import UnknownName
from kernelwright.records import Entry, LanguageName, SourceFile, Tunable
from kernelwright.toolexec.languages import language
from kernelwright.toolexec.languages.torch import TorchLanguage, defines

TUNED = module("        return right", before="MODE = 1", tunables=(Tunable(name="MODE", values=(1, 2), value=2),))


class TestTorch(LanguageContract):
    name = "torch"
    right = RIGHT_MODULE
    broken = module("        return (")


def test_a_file_without_model_new_is_told_so(tmp_path):
    file = SourceFile(path="kernel.py", text="class Model: pass\n")
    built = TorchLanguage().build(
        RIGHT_MODULE.model_copy(update={"files": (file,)}), FACTS, workload="small", folder=tmp_path, timeout_s=9
    )
    assert not built.ok and "ModelNew" in built.log


def test_tunables_are_set_in_what_is_built_and_taken_home(tmp_path):
    spoken = TorchLanguage()
    built = spoken.build(TUNED, FACTS, workload="small", folder=tmp_path, timeout_s=9)
    assert built.artifact is not None
    for text in (built.artifact.read_text(), spoken.export(TUNED, small_task(), FACTS)):
        names: dict[str, object] = {}
        exec("\n".join(line for line in text.splitlines() if line.startswith("MODE")), names)
        assert names["MODE"] == 2


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("class ModelNew: pass", True),
        ("from a import B as ModelNew", True),
        ("ModelNew = 3", True),
        ("class Model: pass", False),
        ("def f():\n    class ModelNew: pass", False),
    ],
)
def test_defines(text, yes):
    assert defines(text, "ModelNew") is yes


def test_an_unknown_language_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'torch'"):
        language("torhc")


def test_languages_and_entries_agree():
    assert language("cpp").entry == Entry.C
    assert language(LanguageName.TORCH.value).entry == Entry.MODULE
