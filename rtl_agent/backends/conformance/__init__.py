"""What a Tinker-compatible server must do, as checks through the SDK alone: `rtl-agent serve --self-check URL`."""

from rtl_agent.backends.conformance.self_check import CHECKS, CheckResult, run_check, run_self_check
from rtl_agent.backends.conformance.subject import Subject

__all__ = ["CHECKS", "CheckResult", "Subject", "run_check", "run_self_check"]
