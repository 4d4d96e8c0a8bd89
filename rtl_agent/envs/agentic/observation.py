"""What a command did, as an agent is shown it: its output without the middle, and how it ended."""

import re
import signal

from rtl_agent.sandbox import MIB, CommandResult, Ended

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")


def plain_text(output: bytes) -> str:
    """Without colours and other control characters; of a line that was overwritten only the last state."""
    text = _ESCAPES.sub("", output.decode(errors="replace")).replace("\r\n", "\n")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", "\n".join(lines)).rstrip()


def head_and_tail(text: str, most: int, *, lost: bool = False) -> str:
    """At most `most` characters, half of them from either end. `lost`: the middle is gone, no one knows how much."""
    if len(text) <= most and not lost:
        return text
    half = min(most, len(text)) // 2
    gone = "most of the output is" if lost else f"{len(text) - 2 * half:,} characters are"
    return f"{text[:half]}\n[... {gone} left out ...]\n{text[len(text) - half :]}"


def observation(result: CommandResult, most: int, wall_seconds: float, output_bytes: int) -> str:
    """The output, then a line that says how it ended."""
    text = head_and_tail(plain_text(result.stdout + result.stderr), most, lost=result.truncated)
    ended = f"[{how_it_ended(result, wall_seconds, output_bytes)}]"
    return f"{text}\n{ended}" if text else ended


def how_it_ended(result: CommandResult, wall_seconds: float, output_bytes: int) -> str:
    """Numbers are limits, never measurements: an observation must not differ from run to run."""
    match result.ended:
        case Ended.EXITED:
            return f"exit code {result.exit_code}"
        case Ended.WALL_TIME:
            return f"stopped: it did not end within {wall_seconds:.0f} s"
        case Ended.OUTPUT:
            return f"stopped: it printed more than {output_bytes // MIB} MiB"
        case Ended.SIGNALLED:
            return f"killed by {_signal_name(-result.exit_code)}{_usual_cause(-result.exit_code)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _usual_cause(number: int) -> str:
    causes = {
        signal.SIGKILL: ": out of memory or CPU time",
        signal.SIGXCPU: ": out of CPU time",
        signal.SIGXFSZ: ": a file became too large",
    }
    return next((cause for known, cause in causes.items() if known == number), "")
