"""Which cocotb generation a harness was written for, read off what it imports and uses.

Never by trying until one passes: a wrong design may pass under the wrong generation. `table.py` has the signs with
their weights and reasons; the heaviest sign decides, and where the heaviest argue for both, the next lighter ones.
"""

from rtl_agent.problems.cocotb_version.find import Decision, cocotb_version_of, decide
from rtl_agent.problems.cocotb_version.table import TABLE, Sign, Weight

__all__ = ["TABLE", "Decision", "Sign", "Weight", "cocotb_version_of", "decide"]
