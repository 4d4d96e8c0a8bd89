"""The name by which verifiers and prime-rl find our problems: they load a taskset by the name of a package.

vf-eval rtl-agent-tasks -n 4
"""

from rtl_agent.integrations.verifiers import RTLEnv, RTLHarness, RTLTaskset

__all__ = ["RTLEnv", "RTLHarness", "RTLTaskset"]
