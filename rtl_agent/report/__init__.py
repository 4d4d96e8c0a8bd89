"""A run as one page: `report.html`, and its curves as PNG files."""

from rtl_agent.report.exam import CRITERIA
from rtl_agent.report.page import WrittenReport, write_report

__all__ = ["CRITERIA", "WrittenReport", "write_report"]
