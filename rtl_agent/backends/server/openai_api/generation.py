"""One request, ready to run: its prompts as tokens, what to sample after each, and the answer as a whole."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from rtl_agent.backends.engine.contract import (
    EngineError,
    ModelInfo,
    SampledSequence,
    SampleRequest,
    ScoreRequest,
    Snapshot,
)
from rtl_agent.backends.server.openai_api.requests import (
    DEFAULT_COMPLETION_TOKENS,
    ChatRequest,
    CompletionRequest,
    TextRequest,
    sample_requests,
)
from rtl_agent.backends.server.openai_api.responses import (
    ChatFormat,
    CompletionFormat,
    Fields,
    Prompt,
    ResponseFormat,
    answer_text,
    envelope,
    usage,
)
from rtl_agent.backends.server.openai_api.text import ModelTokenizer, tokenizer_of
from rtl_agent.backends.server.sampling import check_prompt_tokens, sample_and_score
from rtl_agent.web.errors import bad_request


@dataclass(frozen=True)
class Generation:
    """One request, ready to run: its prompts, and what to sample after each."""

    body: TextRequest
    model: ModelInfo
    tokenizer: ModelTokenizer
    format: ResponseFormat
    prompts: Sequence[Prompt]
    asked: Sequence[Sequence[SampleRequest]]
    score_topk: int | None = None

    @property
    def prompt_tokens(self) -> int:
        return sum(len(prompt.tokens) for prompt in self.prompts)

    def score_request(self, prompt: Prompt) -> ScoreRequest | None:
        if self.score_topk is None:
            return None
        return ScoreRequest(list(prompt.tokens), topk=self.score_topk, ranks=True)

    def text(self, sample: SampledSequence) -> str:
        return answer_text(self.tokenizer, sample, self.model, self.body.stops)


def plan_completion(body: CompletionRequest, model: ModelInfo) -> Generation:
    tokenizer = tokenizer_of(model)
    prompts = []
    for given in body.prompts():
        if isinstance(given, str):
            tokens = tokenizer.encode(given, model, add_special_tokens=body.add_special_tokens)
            prompts.append(Prompt(tokens, given))
        else:
            try:
                check_prompt_tokens(given, model)
            except EngineError as error:
                raise bad_request(str(error), param="prompt") from error
            prompts.append(Prompt(given, tokenizer.decode(given) if body.echo else ""))
    wanted = DEFAULT_COMPLETION_TOKENS if body.max_tokens is None else body.max_tokens
    asked = [sample_requests(body, list(prompt.tokens), wanted, model) for prompt in prompts]
    fmt = CompletionFormat(body, tokenizer)
    return Generation(body, model, tokenizer, fmt, prompts, asked, body.scored_topk)


def plan_chat(body: ChatRequest, model: ModelInfo) -> Generation:
    tokenizer = tokenizer_of(model)
    prompt = Prompt(tokenizer.chat_prompt(body.messages, model), "")
    wanted = body.max_completion_tokens or body.max_tokens
    asked = sample_requests(body, list(prompt.tokens), wanted, model)
    return Generation(body, model, tokenizer, ChatFormat(body, tokenizer), [prompt], [asked])


async def whole_answer(plan: Generation, snapshot: Snapshot) -> Fields:
    one_prompt = partial(sample_and_score, snapshot)
    found = await asyncio.gather(
        *(one_prompt(asked, plan.score_request(prompt)) for prompt, asked in zip(plan.prompts, plan.asked, strict=True))
    )
    choices: list[Fields] = []
    spent = 0
    for prompt, (samples, score) in zip(plan.prompts, found, strict=True):
        scored = replace(prompt, score=score)
        # max_tokens 0 asks for the prompt alone.
        answers: Sequence[SampledSequence | None] = samples or [None] * plan.body.choices
        for sample in answers:
            text = plan.text(sample) if sample else ""
            spent += len(sample.tokens) if sample else 0
            choices.append(plan.format.choice(len(choices), scored, sample, text))
    return {
        **envelope(plan.body, plan.format),
        "object": plan.format.whole,
        "choices": choices,
        "usage": usage(plan.prompt_tokens, spent),
    }
