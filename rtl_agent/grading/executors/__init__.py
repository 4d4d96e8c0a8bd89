"""Where grading jobs run: boxes of this process, or those of a Ray cluster, behind one protocol."""

from rtl_agent.grading.executors.job import Executor, ExecutorFault, GradeJob
from rtl_agent.grading.executors.local import LocalExecutor
from rtl_agent.grading.executors.ray_executor import RayExecutor

__all__ = ["Executor", "ExecutorFault", "GradeJob", "LocalExecutor", "RayExecutor"]
