"""Becomes ``kernelwright/__init__.py``. platform/ itself must never hold an ``__init__.py``.

A package there would shadow the standard library's ``platform`` for everything that starts in the
repository's root, torch and pytest among it. The build maps the folder to its import name instead.
"""

import os

__version__ = "0.1.0"
# In an editable install this adds the real platform/ folder, so that new modules show up at once.
__path__ = list(dict.fromkeys([*__path__, os.path.dirname(os.path.realpath(__file__))]))
