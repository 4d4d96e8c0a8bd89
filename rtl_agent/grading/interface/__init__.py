"""The interface stage: what a harness needs of a design against what the design has."""

from rtl_agent.grading.interface.actual import ActualInterface, ActualParameter, ActualPort, Diagnostic
from rtl_agent.grading.interface.checker import HDL, InterfaceChecker, Reading, SlangWorker
from rtl_agent.grading.interface.compare import InterfaceReport, compare
from rtl_agent.grading.interface.expected import ExpectedInterface, ExpectedPort, expected_interface

__all__ = [
    "HDL",
    "ActualInterface",
    "ActualParameter",
    "ActualPort",
    "Diagnostic",
    "ExpectedInterface",
    "ExpectedPort",
    "InterfaceChecker",
    "InterfaceReport",
    "Reading",
    "SlangWorker",
    "compare",
    "expected_interface",
]
