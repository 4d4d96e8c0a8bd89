"""A text that any model of code has an opinion on: what a server says of it shows whether its scores are scores."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from rtl_agent.teachers.scorer import Scorer, Scores, ScoringError, checked

TEXT = """\
module shift_register #(
    parameter WIDTH = 8
) (
    input  wire             clk,
    input  wire             rst_n,
    input  wire             load,
    input  wire [WIDTH-1:0] data_in,
    output reg  [WIDTH-1:0] data_out
);
    always @(posedge clk or negedge rst_n) begin
        if (!rst_n)
            data_out <= {WIDTH{1'b0}};
        else if (load)
            data_out <= data_in;
        else
            data_out <= {data_out[WIDTH-2:0], 1'b0};
    end
endmodule
"""
SHUFFLED = 64  # tokens that are tried in another order, too
ORDERED = 0.3  # nats per token; our own models have 0.7 to 2.5, and with another vocabulary's ids -2.5 to 0.03
SAME_AGAIN = 1.0  # nats that half-precision servers may differ by from one batch to the next; 0.1 is usual
MOST_PROBABILITY = 1.02  # of some tokens at one position, in half precision


@dataclass(frozen=True)
class Opinion:
    """What a model thinks of the known text."""

    logprob_per_byte: float
    logprob_per_token: float
    doubt: str = ""  # why it may not be the model, or not its tokens


async def opinion(scorer: Scorer, tokens: Sequence[int], topk: int = 0) -> Opinion:
    """`tokens` are the text in the scorer's own. ScoringError where its scores cannot be those of a model.

    Three requests: the second has another last token, which must change its own score and none before it, the third has
    the tokens in another order. `topk` is what will be asked for later.
    """
    count = len(tokens)
    scores = checked(await scorer.score(tokens, topk=topk), count, topk, 0, scorer.name)
    values = [one for one in scores.logprobs if one is not None]
    if not any(values):
        raise ScoringError(f"{scorer.name} gave every token of a Verilog module the logprob 0: not a score")
    if len(set(values)) == 1:
        raise ScoringError(f"{scorer.name} gave every token of a Verilog module the logprob {values[0]:g}: not a score")
    if topk:
        _check_likeliest(scores, topk, scorer.name)
    other = [*tokens[:-1], next(token for token in tokens if token != tokens[-1])]
    again = checked(await scorer.score(other, topk=topk, first=count - 2), count, topk, count - 2, scorer.name).logprobs
    before, changed = scores.logprobs[count - 2], again[count - 2]
    assert before is not None
    assert changed is not None
    if abs(before - changed) > SAME_AGAIN:
        raise ScoringError(
            f"{scorer.name} changed its score of a token from {before:.2f} to {changed:.2f} when the one after it was "
            "another: its scores are shifted, or not of this text"
        )
    if scores.logprobs[-1] == again[-1]:
        raise ScoringError(
            f"{scorer.name} gave the last token of a text the same score, {again[-1]:.2f}, when it was another: its "
            "scores are shifted, or not of this text"
        )
    doubt = ""
    if await _advantage_of_order(scorer, tokens[:SHUFFLED], values[: SHUFFLED - 1]) < ORDERED:
        doubt = "it finds a Verilog module hardly likelier than its tokens in any order: are these the model's tokens?"
    return Opinion(math.fsum(values) / len(TEXT.encode()), math.fsum(values) / len(values), doubt)


def _check_likeliest(scores: Scores, topk: int, name: str) -> None:
    """ScoringError where what a server calls its likeliest tokens cannot be those of the positions that it scored."""
    most = 0
    for at, (logprob, row) in enumerate(zip(scores.logprobs, scores.top, strict=True)):
        if row is None or logprob is None:
            continue
        most = max(most, len(row.tokens))
        if logprob > max(row.logprobs) + SAME_AGAIN:
            raise ScoringError(
                f"{name} gave the token at position {at} the logprob {logprob:.2f}, and its likeliest token there "
                f"{max(row.logprobs):.2f}: they are of different positions"
            )
        if math.fsum(map(math.exp, row.logprobs)) > MOST_PROBABILITY:
            raise ScoringError(f"{name} gave its likeliest tokens at position {at} probabilities of more than 1 in all")
    if most < topk:
        raise ScoringError(
            f"{name} gave at most {most} of its likeliest tokens at a position, and {topk} were asked for: raise its "
            "limit, or lower forward_kl_topk"
        )


async def _advantage_of_order(scorer: Scorer, tokens: Sequence[int], values: Sequence[float]) -> float:
    """Nats per token by which the text is likelier than a shuffled one, however little the model knows of Verilog."""
    shuffled = list(tokens)
    random.Random(0).shuffle(shuffled)
    scores = checked(await scorer.score(shuffled), len(shuffled), 0, 0, scorer.name).logprobs[1:]
    return (math.fsum(values) - math.fsum(one for one in scores if one is not None)) / len(values)
