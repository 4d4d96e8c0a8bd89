"""A model's reply -> `Submission`, read forgivingly or as CVDP's runner reads it; thinking is left out either way."""

from dataclasses import replace

from rtl_agent.grading.extraction import DEFAULT_EXTRACTION, Extraction
from rtl_agent.grading.replies.choose import Chosen, choose
from rtl_agent.grading.replies.cvdp import read_as_cvdp
from rtl_agent.grading.replies.pieces import pieces_of
from rtl_agent.grading.replies.thinking import after_thinking
from rtl_agent.grading.replies.wanted import elsewhere_declared, wanted
from rtl_agent.grading.submission import Submission, submit
from rtl_agent.problems import Problem

MAX_REPLY = 1024 * 1024  # as long as a file may be; a hostile reply of four times that took 5 s to read


def extract(problem: Problem, reply: str, extraction: Extraction = DEFAULT_EXTRACTION) -> Submission:
    """The files in a reply. A reply without any is unusable, and says why."""
    if len(reply) > MAX_REPLY:
        return _unusable(f"the reply is longer than {MAX_REPLY} characters", extraction)
    text = after_thinking(reply)
    if text is None:
        return _unusable("the reply ends inside <think>: nothing was answered", extraction)
    chosen = read_as_cvdp(problem.targets, text) if extraction is Extraction.CVDP else _forgiving(problem, text)
    if chosen.unusable is not None:
        refused = submit(problem, chosen.files).refused
        return replace(_unusable(chosen.unusable, extraction), refused=refused)
    return replace(submit(problem, chosen.files), extraction=extraction)


def _forgiving(problem: Problem, text: str) -> Chosen:
    if "\n" not in text:
        text = text.replace("\r", "\n")
    return choose(wanted(problem), problem.given, elsewhere_declared(problem), pieces_of(text))


def _unusable(reason: str, extraction: Extraction) -> Submission:
    return Submission({}, (), reason, extraction)
