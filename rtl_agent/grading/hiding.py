"""Text that shows a linter or a synthesiser another design than the simulator sees, or tells it to look away.

CVDP's lint and synthesis services take such text: a waiver in a comment passes the lint that was asked for. Here it
fails the service, unless the file had it when it was given. A verdict is stricter than CVDP's here, and only here.
"""

import re

from rtl_agent.grading.submission import Submission
from rtl_agent.problems import Problem

_TELLTALE = re.compile(
    r"(?i:verilator\w*)"  # /* verilator lint_off X */, `verilator_config, `ifdef VERILATOR, in any case
    r"|\b(?:SYNTHESIS|YOSYS|FORMAL|__ICARUS__|COCOTB_SIM)\b"  # macros that a tool or a runner defines
    r"|(?i:\b(?:synopsys|synthesis|pragma|cadence)\s+(?:\w*_)?(?:off|on)\b)"
    r"|(?i:\btranslate_(?:off|on)\b)"
    r"|\"DPI(?:-C)?\"|\$c\b|\$system\b",  # Yosys calls imported C functions while it elaborates
)
_MACRO = re.compile(r"`(?:(?:ifdef|ifndef|elsif)\s+)?(\w+)")
_DEFINED = re.compile(r"`define\s+(\w+)")
_DIRECTIVES = frozenset(
    {
        *("define", "undef", "undefineall", "ifdef", "ifndef", "elsif", "else", "endif", "include", "timescale"),
        *("default_nettype", "resetall", "celldefine", "endcelldefine", "line", "pragma", "begin_keywords"),
        *("end_keywords", "unconnected_drive", "nounconnected_drive", "__FILE__", "__LINE__"),
    }
)
_JUDGED_BY_TEXT = re.compile(r"\b(verilator|yosys)\b")


def hidden_parts(problem: Problem, service_text: str, submission: Submission) -> tuple[str, ...]:
    """What a submission hides from a service that lints or synthesises, in its own words."""
    if not _JUDGED_BY_TEXT.search(service_text):
        return ()
    context = list(problem.context.values())
    own = list(submission.files.values())
    given = {found.lower() for text in context for found in (*_TELLTALE.findall(text), *_MACRO.findall(text))}
    defined = {name for text in (*context, *own) for name in _DEFINED.findall(text)} | _DIRECTIVES
    # A macro that no file defines is some tool's own: it tells the tools apart.
    foreign = [name for text in own for name in _MACRO.findall(text) if name not in defined]
    found = dict.fromkeys([word for text in own for word in _TELLTALE.findall(text)] + foreign)
    return tuple(f"`{word}` hides code from a tool that judges it" for word in found if word.lower() not in given)
