"""Language ``cute_dsl``: Python files with ModelNew whose kernels are written in CUTLASS' CuTe DSL.

Owns which package brings it; building and looking are ahead.py's, compiling is cute_dsl_child.py's.
"""

from __future__ import annotations

from kernelwright.toolexec.languages.ahead import AheadLanguage


class CuteDslLanguage(AheadLanguage):
    """CuTe DSL candidates. Stateless."""

    name = "cute_dsl"
    distribution = "nvidia-cutlass-dsl"
    requirement = "nvidia-cutlass-dsl>=4.4"
    child = "cute_dsl_child.py"
    guide_file = "cute_dsl_guide.md"
