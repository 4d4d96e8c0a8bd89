"""The tokens of a rollout with what student, teacher and objective said of each; None for what nobody kept."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rtl_agent.runs.episode import Episode

Decoder = Callable[[str, Sequence[int]], list[str] | None]
"""A model's name and token ids -> the text of each; None where its tokenizer is not at hand."""

MOST_TOKENS = 200_000
MOST_TOP = 10
MOST_KL = 50.0  # nats, of one token, as training clips it


class Pieces:
    """Texts of tokens, each decoded once: a rollout repeats most of its tokens, and so do its siblings."""

    MOST = 500_000

    def __init__(self, decode: Decoder) -> None:
        self._decode = decode
        self._known: dict[tuple[str, int], str] = {}

    def of(self, model: str, tokens: Sequence[int]) -> list[str] | None:
        new = [token for token in dict.fromkeys(tokens) if (model, token) not in self._known]
        if new:
            found = self._decode(model, new)
            if found is None or len(found) != len(new):
                return None
            if len(self._known) > self.MOST:
                self._known = {}
            self._known |= {(model, token): text for token, text in zip(new, found, strict=True)}
        known = [self._known.get((model, token)) for token in tokens]
        return None if None in known else [text for text in known if text is not None]


def tokens_of(
    pieces: Pieces, model: str, episode: Episode, data: Mapping[str, Any], advantage: Sequence[float | None] | None
) -> dict[str, Any] | None:
    """None where there are none, or no tokenizer for them."""
    sampled = list(episode.sampled_tokens)
    if not sampled or len(sampled) > MOST_TOKENS or not _are_tokens(sampled):
        return None
    texts = pieces.of(model, sampled)
    if texts is None:
        return None
    count = len(texts)
    turns = [number for number, turn in enumerate(episode.turns) for _ in turn.sampled_tokens]
    return {
        "text": texts,
        "turn": turns if len(turns) == count else None,
        "logprob": numbers(data.get("sampled_logprobs"), count),
        "teacher": numbers(data.get("teacher_logprobs"), count),
        "kl": numbers(data.get("reverse_kl"), count),
        "entropy": numbers(data.get("entropy"), count),
        "advantage": list(advantage) if advantage is not None and len(advantage) == count else None,
        "top": _top(pieces, model, data.get("teacher_top"), count),
        "chunk": _chunks(data.get("teacher_chunks"), count),
    }


def recorded_advantage(data: Mapping[str, Any], count: int) -> list[float | None] | None:
    """As the step was made with. One number where it is the same for each token."""
    value = data.get("advantages")
    return [_number(value)] * count if _number(value) is not None else numbers(value, count)


def derived_advantage(
    data: Mapping[str, Any], rewards: Sequence[float], config: Mapping[str, Any], count: int
) -> list[float | None] | None:
    """From what runs of before kept, where the objective was plain: reward above the group's mean, and reverse KL."""
    reward, mode = _number(data.get("reward")), config.get("mode")
    if reward is None or not rewards or mode not in ("rl", "distill") or not count:
        return None
    centred = _setting(config, "reward_coef", 1.0) * (reward - sum(rewards) / len(rewards))
    if mode == "rl":
        return [centred] * count
    special = ("kl_discount_factor", "prefix_trust", "reward_weighted")
    if any(config.get(name) for name in special) or config.get("kl_credit", "covering") != "covering":
        return None
    penalty = _setting(config, "kl_penalty_coef", 1.0)
    kl = numbers(data.get("reverse_kl"), count)
    if kl is None:
        return None if penalty else [centred] * count
    return [centred - penalty * max(-MOST_KL, min(MOST_KL, one)) if one is not None else centred for one in kl]


def numbers(values: Any, count: int) -> list[float | None] | None:
    """A list of so many numbers; what is none among them is None. None for any other thing."""
    return [_number(value) for value in values] if isinstance(values, list) and len(values) == count else None


def _top(pieces: Pieces, model: str, listed: Any, count: int) -> list[list[tuple[str, float]] | None] | None:
    """The teacher's likeliest tokens with their logprobs, where the run kept them."""
    if not isinstance(listed, list) or len(listed) != count:
        return None
    kept = [_pairs(one) for one in listed]
    texts = pieces.of(model, [token for pairs in kept for token, _ in pairs])
    if not texts:
        return None
    words = iter(texts)
    return [[(next(words), logprob) for _, logprob in pairs] or None for pairs in kept]


def _pairs(listed: Any) -> list[tuple[int, float]]:
    pairs = listed[:MOST_TOP] if isinstance(listed, list) else []
    return [
        (pair[0], float(pair[1]))
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and _are_tokens(pair[:1]) and _number(pair[1]) is not None
    ]


def _chunks(listed: Any, count: int) -> list[int] | None:
    """The place of the first token of each token's chunk: a teacher with other tokens judges chunks as wholes."""
    if not isinstance(listed, list) or len(listed) != count or not _are_tokens(listed):
        return None
    in_order = all(one <= other for one, other in pairwise(listed))
    return listed if in_order and all(chunk <= place for place, chunk in enumerate(listed)) else None


def _are_tokens(values: Sequence[Any]) -> bool:
    return all(type(value) is int and 0 <= value < 2**31 for value in values)


def _setting(config: Mapping[str, Any], name: str, default: float) -> float:
    value = _number(config.get(name))
    return default if value is None else value


def _number(value: Any) -> float | None:
    """None for NaN and infinities too."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if known else None
