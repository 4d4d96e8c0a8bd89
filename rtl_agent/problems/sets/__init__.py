"""Problem sets that others made, read from a checkout: VerilogEval, RTLLM and ChipBench."""

from rtl_agent.problems.sets.chipbench import chipbench_source
from rtl_agent.problems.sets.rtllm import rtllm_source
from rtl_agent.problems.sets.verilog_eval import verilog_eval_source

__all__ = ["chipbench_source", "rtllm_source", "verilog_eval_source"]
