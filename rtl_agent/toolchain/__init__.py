"""Which EDA tools, which versions, where: found, pinned, installed for the harness, reported by `rtl-agent doctor`."""

from rtl_agent.toolchain.find import find_toolchain, forget_toolchain
from rtl_agent.toolchain.home import HarnessPython
from rtl_agent.toolchain.image import ImageToolchain, image_toolchain
from rtl_agent.toolchain.missing import ToolMissing
from rtl_agent.toolchain.toolchain import Tool, Toolchain, fallback_warning

__all__ = [
    "HarnessPython",
    "ImageToolchain",
    "Tool",
    "ToolMissing",
    "Toolchain",
    "fallback_warning",
    "find_toolchain",
    "forget_toolchain",
    "image_toolchain",
]
