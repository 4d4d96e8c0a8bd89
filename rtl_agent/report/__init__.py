"""A run as one page: `report.html`, and its curves as PNG files."""

from rtl_agent.report.write import Report, write_report

__all__ = ["Report", "write_report"]
