"""Answers in prose, by CVDP's formula: BLEU with one and two words, and recall of pairs of words (ROUGE-2).

A word is what stands between blanks. CVDP reports the score itself, and takes an answer for passed above 0.40 of both.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rtl_agent.grading.replies.thinking import after_thinking

WORDS = 2  # the longest run of words that is compared
THRESHOLD = 0.40
BY_WORDS = ("cid006", "cid008")  # scored by the formula; cid009 and cid010 by a judging model


@dataclass(frozen=True)
class TextScore:
    bleu: float
    rouge: float  # recall

    @property
    def passed(self) -> bool:
        return self.bleu > THRESHOLD and self.rouge > THRESHOLD


def score_text(answer: str, reference: str) -> TextScore:
    """The score of an answer. `answer_of` reads one off a model's reply.

    Example:
        >>> from rtl_agent.grading.text_scores import score_text
        >>> score_text("the counter wraps at nine", "the counter wraps at ten").rouge
        0.75
    """
    return TextScore(bleu(answer.split(), reference.split()), rouge_recall(answer.split(), reference.split()))


def answer_of(reply: str) -> str:
    """The answer in a reply: `response` of its JSON object, which is what is asked for, else all of its text.

    Read as CVDP does: control characters dropped, from the first brace to the last one.
    """
    text = after_thinking(reply) or ""
    clean = "".join(char for char in text if ord(char) >= 32)
    begin, end = clean.find("{"), clean.rfind("}")
    if 0 <= begin < end:
        try:
            found: Any = json.loads(clean[begin : end + 1])
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and isinstance(found.get("response"), str):
            return str(found["response"]).strip()
    return text.strip()


def bleu(answer: Sequence[str], reference: Sequence[str]) -> float:
    """The geometric mean of the shares of runs of one and of two words that the reference has too, each counted as
    often as it occurs there, and a penalty for an answer that is shorter. Without smoothing: no pair in common is 0."""
    if not answer:
        return 0.0
    shares = []
    for length in range(1, WORDS + 1):
        runs = _runs(answer, length)
        common = (runs & _runs(reference, length)).total()
        if common == 0:
            return 0.0
        shares.append(common / runs.total())
    short = 1.0 if len(answer) > len(reference) else math.exp(1 - len(reference) / len(answer))
    return short * math.exp(sum(math.log(share) for share in shares) / WORDS)


def rouge_recall(answer: Sequence[str], reference: Sequence[str]) -> float:
    """The share of the reference's pairs of words that the answer has too."""
    wanted = _runs(reference, WORDS)
    return (wanted & _runs(answer, WORDS)).total() / wanted.total() if wanted else 0.0


def _runs(words: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + length]) for at in range(len(words) - length + 1))
