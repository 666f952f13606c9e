"""The languages that candidates may be written in: short name -> dotted path, imported when used.

A third party adds one by putting its name into ``LANGUAGES`` and inheriting tests/contracts' Language contract.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from kernelwright.errors import UnknownName
from kernelwright.protocols import Language

LANGUAGES: dict[str, str] = {
    "cpp": "kernelwright.toolexec.languages.cpp:CppLanguage",
    "cuda": "kernelwright.toolexec.languages.cuda:CudaLanguage",
    "cute": "kernelwright.toolexec.languages.cute:CuteLanguage",
    "cute_dsl": "kernelwright.toolexec.languages.cute_dsl:CuteDslLanguage",
    "halide": "kernelwright.toolexec.languages.halide:HalideLanguage",
    "thunderkittens": "kernelwright.toolexec.languages.thunderkittens:ThunderKittensLanguage",
    "tilelang": "kernelwright.toolexec.languages.tilelang:TileLangLanguage",
    "torch": "kernelwright.toolexec.languages.torch:TorchLanguage",
    "triton": "kernelwright.toolexec.languages.triton:TritonLanguage",
}
"""Short name -> ``module:class``; the class is called without arguments."""


@lru_cache
def language(name: str) -> Language:
    """The language of a short name.

    Raises:
        UnknownName: there is none.
    """
    if name not in LANGUAGES:
        raise UnknownName("language", name, LANGUAGES)
    module, _, attribute = LANGUAGES[name].partition(":")
    made: Language = getattr(import_module(module), attribute)()
    return made
