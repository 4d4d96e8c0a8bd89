import os
import re
import subprocess

# Ways to hide a warning from the linter instead of repairing it: in comments that a tool reads, and in the code.
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
PRAGMA = re.compile(r"(//|/\*)\s*(verilator\b|\w+\s+translate_off)")
HIDING = re.compile(r"`(ifdef|ifndef|elsif|else)\b")


def test_lint_is_clean():
    cmd = "verilator --lint-only -Wall -Wno-EOFNEWLINE /src/lint_config.vlt $VERILOG_SOURCES > lint_results.log 2>&1"
    code = subprocess.run(cmd, shell=True).returncode
    with open("lint_results.log") as log:
        report = log.read()
    assert code == 0, f"verilator: expected exit code 0, got {code}\n{report}"


def test_no_warning_is_hidden():
    for path in os.environ["VERILOG_SOURCES"].split():
        with open(path) as source:
            text = source.read()
        pragmas = (PRAGMA.match(comment) for comment in COMMENT_OR_STRING.findall(text))
        found = next(filter(None, pragmas), None) or HIDING.search(COMMENT_OR_STRING.sub(" ", text))
        assert found is None, f"{path}: warnings are hidden, not repaired: {found.group(0)!r}"
