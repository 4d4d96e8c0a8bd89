"""Logprobs of a prompt's own tokens, one prompt at a time.

So its shapes are its own, whoever else waits, and on a CPU nothing is lost: 200 tokens fill the matrix products.
"""

import numpy as np
import torch
from torch import Tensor

from rtl_agent.backends.engine.choice import Settings
from rtl_agent.backends.engine.contract import Sample, SampleRequest, Score, ScoreRequest, StopReason
from rtl_agent.backends.engine.frozen import FrozenModel
from rtl_agent.backends.engine.target_logprobs import MAX_LOGITS

Pairs = list[tuple[int, float]]


def score(model: FrozenModel, request: ScoreRequest) -> Score:
    tokens = torch.tensor(list(request.tokens), device=model.base.device)
    hidden = model.hidden(tokens)
    # The logprob of token i comes from position i - 1; token 0 has none.
    first = 0 if request.last is None else max(0, len(tokens) - request.last)
    predicted = max(first, 1)
    logprobs: list[float | None] = [None] * (predicted - first)
    topk: list[Pairs | None] = [None] * (predicted - first)
    rows = max(1, MAX_LOGITS // model.config.vocabulary)
    for start in range(predicted, len(tokens), rows):
        targets = tokens[start : start + rows]
        table = torch.log_softmax(hidden[start - 1 : start - 1 + len(targets)] @ model.head, dim=-1)
        logprobs += table.gather(1, targets[:, None])[:, 0].tolist()
        if request.topk:
            topk += best(table, request.topk)
    then = None if request.then is None else _one_token(model, hidden[-1:], request.then)
    return Score(logprobs, topk if request.topk else (), then)


def best(logprobs: Tensor, count: int) -> list[Pairs]:
    """The likeliest tokens of each row, best first."""
    values, indices = logprobs.topk(min(count, logprobs.shape[-1]), dim=-1)
    return [list(zip(*row, strict=True)) for row in zip(indices.tolist(), values.tolist(), strict=True)]


def _one_token(model: FrozenModel, hidden: Tensor, request: SampleRequest) -> Sample:
    settings = Settings(1, model.config.vocabulary)
    settings.put(0, request)
    chosen = settings.choose(hidden @ model.head, np.zeros(1, dtype=np.int64))
    token = int(chosen.tokens[0])
    topk = best(chosen.logprobs, request.topk_logprobs) if request.topk_logprobs else ()
    reason: StopReason = "stop" if token in request.stop_tokens else "length"
    return Sample([token], [float(chosen.logprobs[0, token])], reason, topk)
