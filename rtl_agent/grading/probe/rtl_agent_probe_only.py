"""Only some tests of a harness are asked for: nothing is run after the last of them.

What comes before it runs too: what that draws, builds and leaves in the design is what the test found when the whole
harness ran, and simulations are numbered for their seeds. So its result is the same.
"""

import json
import os
import re

import rtl_agent_probe

ONLY = "RTL_AGENT_ONLY"  # {"regex": which names are meant, "simulates": whether there may be cocotb tests}


def items_to_run(names):
    """How many pytest items to run, from the first; their simulations then run whole. Where none is meant, cocotb tests
    may be."""
    plan = _plan()
    if plan is None:
        return len(names)
    rtl_agent_probe.send_many("names", "tests", names, sim=0)
    meant = _up_to_the_last(plan, names)
    if meant == 0:
        return len(names) if plan["simulates"] else 0
    del os.environ[ONLY]
    return meant


def tests_to_run(names, sim):
    """How many of a simulation's cocotb tests to run, from the first."""
    plan = _plan()
    if plan is None:
        return len(names)
    rtl_agent_probe.send_many("names", "tests", names, sim=sim)
    return _up_to_the_last(plan, names)


def _plan():
    return json.loads(os.environ[ONLY]) if os.environ.get(ONLY) else None


def _up_to_the_last(plan, names):
    return max((number for number, name in enumerate(names, 1) if re.search(plan["regex"], name)), default=0)
