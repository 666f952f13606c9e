"""A judge in a process of its own: runs what the tests ask for and prints how it ended, as JSON.

``python judge_side.py PACKAGE_ROOT ORDER``, ORDER being JSON: tier, abi (to act as an older Landlock), command
("PYTHON" stands for this interpreter), scratch, readable, limits, timeout_s.
"""

import dataclasses
import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from kernelwright.toolexec.sandbox.confinement import Limits, run_confined  # noqa: E402
from kernelwright.toolexec.sandbox.tiers import available  # noqa: E402

order = json.loads(sys.argv[2])
tiers = {tier.name: tier for tier in available()}
if order["tier"] not in tiers:
    print(json.dumps({"missing": tiers["rlimits"].better}))
    sys.exit()
tier = tiers[order["tier"]]
if order.get("abi"):
    tier = dataclasses.replace(tier, landlock_abi=min(tier.landlock_abi, order["abi"]))
finished = run_confined(
    [sys.executable if word == "PYTHON" else word for word in order["command"]],
    scratch=Path(order["scratch"]),
    readable=[Path(path) for path in order["readable"]],
    env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
    limits=Limits(**order["limits"]),
    timeout_s=order["timeout_s"],
    tier=tier,
)
print(json.dumps(dataclasses.asdict(finished)))
