"""What a model wrote -> `Grade`: extract, interface, syntax, simulate, reward."""

from rtl_agent.grading.cache import GradeCache, default_cache_path
from rtl_agent.grading.executors import ExecutorFault, RayExecutor
from rtl_agent.grading.extract import extract
from rtl_agent.grading.grade import Diagnostic, Grade, Outcome, Reward, Stage, StageName, TestResult
from rtl_agent.grading.grader import CannotGrade, Grader, GraderStats
from rtl_agent.grading.reward import PRESETS, RewardWeights, parse_weights
from rtl_agent.grading.reward_terms import REWARD_TERMS, JudgedSubmission, RewardTerm, check_reward_term
from rtl_agent.grading.shared import GraderOptions, shared_grader
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.grading.submission import DEFAULT_EXTRACTION, Extraction, Submission, submit, submit_directory
from rtl_agent.grading.sync_grader import SyncGrader
from rtl_agent.grading.validate import Trust, Validation, validate_problem

__all__ = [
    "DEFAULT_EXTRACTION",
    "PRESETS",
    "REWARD_TERMS",
    "CannotGrade",
    "Diagnostic",
    "ExecutorFault",
    "Extraction",
    "Grade",
    "GradeCache",
    "Grader",
    "GraderOptions",
    "GraderStats",
    "JudgedSubmission",
    "Outcome",
    "RayExecutor",
    "Reward",
    "RewardTerm",
    "RewardWeights",
    "SimulationMode",
    "Stage",
    "StageName",
    "Submission",
    "SyncGrader",
    "TestResult",
    "Trust",
    "Validation",
    "check_reward_term",
    "default_cache_path",
    "extract",
    "parse_weights",
    "shared_grader",
    "submit",
    "submit_directory",
    "validate_problem",
]
