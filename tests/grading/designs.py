"""Designs that tests need for any problem: nothing at all, and constants on every output."""

import re

from rtl_agent.problems import Problem

NOTHING = "// nothing\n"


def constant(problem: Problem, value: str) -> dict[str, str]:
    """The reference with the top module's body replaced: its ports and parameters are right, its outputs constant."""
    assert problem.reference is not None
    top = problem.harness.services[0].env["TOPLEVEL"]
    files = dict(problem.reference)
    for path, text in files.items():
        header = re.search(rf"^module\s+{top}\b.*?\);", text, re.DOTALL | re.MULTILINE)
        if header is None:
            continue
        plain = re.sub(r"\breg\b", "logic", header[0])
        bare = re.sub(r"//[^\n]*|\[[^\]]*\]", "", plain)
        outputs = re.findall(r"\boutput\b[^,;()]*?(\w+)\s*(?=[,)\n])", bare)
        assert outputs, f"{problem.id}: no outputs found in {header[0]}"
        body = "".join(f"    assign {name} = {value};\n" for name in outputs)
        before = text[: header.start()]
        files[path] = f"{before}{plain}\n{body}endmodule\n"
    return files
