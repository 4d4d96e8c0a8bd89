"""A run as one page: `report.html`, and its curves as PNG files."""

from rtl_agent.report.exam import CRITERIA
from rtl_agent.report.interface import Design, Interface, Port, ReadInterfaces
from rtl_agent.report.write import Report, write_report

__all__ = ["CRITERIA", "Design", "Interface", "Port", "ReadInterfaces", "Report", "write_report"]
