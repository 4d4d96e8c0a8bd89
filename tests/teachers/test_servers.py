"""Scores from vLLM, SGLang and llama.cpp, in the shapes of their published sources; and answers that are no scores."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from rtl_agent.teachers import openai_scorer
from rtl_agent.teachers.openai_scorer import open_openai
from rtl_agent.teachers.scorer import Scores, ScoringError, TooLong, TopK, Unreachable, checked
from rtl_agent.teachers.servers.model import Asked, Sampled
from tests.teachers.answers import Answer, answering, fixture

CODER = "Qwen/Qwen3-Coder-30B-A3B-Instruct"
TOKENS = [11, 12, 13, 14]
LOGPROBS = (None, -0.25, -6.5, -2.25)
TOP = (None, TopK((12, 99), (-0.25, -1.75)), TopK((98, 97), (-0.5, -1.5)), TopK((96, 14), (-0.125, -2.25)))
STOP = Asked(max_tokens=8, stop=(7,))


def vllm(completion: Answer | None = None) -> dict[str, Answer]:
    told = fixture("vllm")
    return {"/v1/models": told["models"], "/v1/completions": told["completion"] if completion is None else completion}


def sglang(generated: Answer | None = None) -> dict[str, Answer]:
    told = fixture("sglang")
    return {"/v1/models": told["models"], "/generate": told["generated"] if generated is None else generated}


def llamacpp(completion: Answer) -> dict[str, Answer]:
    told = fixture("llamacpp")
    return {"/v1/models": told["models"], "/props": told["props"], "/completion": completion}


async def test_vllm_scores_a_prompt_of_token_ids() -> None:
    asked: list[Any] = []
    with answering(vllm(), asked) as url:
        model = await open_openai(f"openai:{url}/v1", CODER, "secret")
        assert (model.kind, model.context, model.root) == ("vLLM", 8192, "/models/qwen3-coder")
        assert await model.score(TOKENS) == Scores(LOGPROBS)
        assert await model.score(TOKENS, topk=2) == Scores(LOGPROBS, TOP)
        await model.aclose()
    path, body, headers = asked[-1]
    assert (path, body["prompt"], body["prompt_logprobs"], body["max_tokens"]) == ("/v1/completions", TOKENS, 2, 1)
    assert headers["Authorization"] == "Bearer secret"


async def test_vllm_tells_the_tokens_that_it_samples_in_two_ways() -> None:
    told = fixture("vllm")["sampled"]
    older = copy.deepcopy(told)
    del older["choices"][0]["token_ids"]
    for answer in (told, older):
        with answering(vllm(answer)) as url:
            model = await open_openai(f"openai:{url}/v1", CODER)
            assert await model.sample(TOKENS, STOP) == Sampled((21, 22, 7), True)
            await model.aclose()


async def test_sglang_is_asked_by_its_own_path_and_scores_the_end_alone() -> None:
    asked: list[Any] = []
    told = fixture("sglang")

    def generated(body: Any) -> Any:
        return told["generated_from_2"] if body["logprob_start_len"] == 2 else told["generated"]

    with answering(sglang(generated), asked) as url:
        model = await open_openai(f"openai:{url}/v1", CODER)
        assert model.kind == "SGLang"
        assert await model.score(TOKENS, topk=2) == Scores(LOGPROBS, TOP)
        assert await model.score(TOKENS, first=3) == Scores((None, None, None, -2.25))
        await model.aclose()
    # The first row that SGLang gives has no logprob: scoring begins one token before what is needed.
    assert (asked[-1][0], asked[-1][1]["logprob_start_len"]) == ("/generate", 2)
    with answering(sglang(told["sampled"])) as url:
        model = await open_openai(f"openai+sglang:{url}/v1", CODER)
        assert await model.sample(TOKENS, STOP) == Sampled((21, 22, 7), True)
        await model.aclose()


async def test_llamacpp_is_made_to_write_each_token() -> None:
    asked: list[Any] = []
    told = fixture("llamacpp")

    def forced(body: Any) -> Any:
        answer = copy.deepcopy(told["forced"])
        [[token, _]] = body["logit_bias"]
        answer["completion_probabilities"][0]["id"] = token
        return answer

    with answering(llamacpp(forced), asked) as url:
        model = await open_openai(f"openai:{url}/v1", "teacher")
        assert (model.kind, model.context) == ("llama.cpp", 2048)
        top = TopK((96, 14), (-0.125, -2.25))
        assert await model.score(TOKENS, topk=2, first=2) == Scores((None, None, -2.25, -2.25), (None, None, top, top))
        await model.aclose()
    bodies = [body for path, body, _ in asked if path == "/completion"]
    assert [(body["prompt"], body["logit_bias"][0][0]) for body in bodies] == [([11, 12], 13), ([11, 12, 13], 14)]
    with answering(llamacpp(told["sampled"])) as url:
        model = await open_openai(f"openai:{url}/v1", "teacher")
        assert await model.sample(TOKENS, STOP) == Sampled((21, 22, 7), True)  # the end token, which it keeps to itself
        await model.aclose()


def edited(change: Callable[[Any], object]) -> dict[str, Answer]:
    completion = fixture("vllm")["completion"]
    change(completion["choices"][0])
    return vllm(completion)


def edited_sglang(change: Callable[[Any], object]) -> dict[str, Answer]:
    generated = fixture("sglang")["generated"]
    change(generated["meta_info"])
    return sglang(generated)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (edited(lambda one: one.pop("prompt_logprobs")), "does not tell how likely it finds a prompt"),
        (edited(lambda one: one["prompt_logprobs"].pop()), "gave 3 prompt_logprobs for 4 tokens"),
        (edited(lambda one: one["prompt_logprobs"].__setitem__(2, None)), "gave no logprobs at position 2"),
        (edited(lambda one: one["prompt_logprobs"].insert(0, one["prompt_logprobs"].pop())), "at position 1|shifted"),
        (edited(lambda one: one["prompt_logprobs"][1]["12"].update(logprob=0.5)), "the logprob 0.5 at position 1"),
        (edited(lambda one: one["prompt_logprobs"][1]["12"].update(logprob=float("nan"))), "the logprob nan"),
        (edited(lambda one: one["prompt_logprobs"][1].update({"5": {"logprob": float("nan")}})), "no probabilities"),
        (edited(lambda one: one["prompt_logprobs"][1].update({"5": {"logprob": 4.0}})), "no probabilities"),
        (edited(lambda one: one["prompt_logprobs"][1].update({"5": {"logprob": None}})), "no logprobs at position 1"),
        (edited(lambda one: one["prompt_logprobs"][1].update({"5": {"logprob": 10**400}})), "another shape"),
        (vllm({"choices": []}), "without choices"),
        (vllm(b"[" * 100_000), "not JSON"),
        (vllm([]), "without choices"),
        (vllm(b"<html>"), "not JSON"),
        (vllm((401, {"error": {"message": "Unauthorized"}})), "teacher_api_key_env"),
        (vllm((400, fixture("vllm")["too_many_logprobs"])), "greater than max allowed: 20"),
        (edited_sglang(lambda one: one.pop("input_token_logprobs")), "does not tell how likely it finds a prompt"),
        (edited_sglang(lambda one: one["input_token_logprobs"].pop()), "gave 3 logprobs for the last 4 tokens"),
        (edited_sglang(lambda one: one["input_token_logprobs"][2].__setitem__(1, 5)), "scored token 5 at position 2"),
        (edited_sglang(lambda one: one["input_token_logprobs"][2].__setitem__(0, None)), "no logprob at position 2"),
        (edited_sglang(lambda one: one["input_top_logprobs"].pop()), "likeliest tokens at 3 of 4 positions"),
        (edited_sglang(lambda one: one["input_top_logprobs"].__setitem__(2, [[-1.0]])), "another shape"),
        (edited_sglang(lambda one: one["input_top_logprobs"].__setitem__(2, None)), "left out its likeliest tokens"),
        (edited_sglang(lambda one: one.update(input_top_logprobs=7)), "another shape"),
        (sglang({"text": "x"}), "without meta_info"),
        (llamacpp(fixture("llamacpp")["echoed"]), "no completion_probabilities"),
        (llamacpp(fixture("llamacpp")["forced"]), "wrote token 14 at position 1"),
    ],
)
async def test_answers_that_are_no_scores_say_which_server_said_what(answers: dict[str, Answer], said: str) -> None:
    model_name = "teacher" if "/props" in answers else CODER
    with answering(answers) as url:
        model = await open_openai(f"openai:{url}/v1", model_name)
        with pytest.raises(ScoringError, match=said) as failure:
            await model.score(TOKENS, topk=2)
        await model.aclose()
        assert url in str(failure.value)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (vllm({"choices": [{"token_ids": [5, -1], "finish_reason": "stop"}]}), "sampled -1, which is not the number"),
        (vllm({"choices": [{"token_ids": [5, "x"]}]}), "does not tell the tokens"),
        (vllm({"choices": [{"token_ids": [5, None]}]}), "another shape"),
        (vllm({"choices": [{"logprobs": 3}]}), "another shape"),
        (sglang({"meta_info": {"finish_reason": "stop"}, "output_ids": [1]}), "another shape"),
        (llamacpp({"tokens": [2**40]}), "sampled 1099511627776, which is not the number"),
    ],
)
async def test_samples_that_are_no_tokens_are_said_too(answers: dict[str, Answer], said: str) -> None:
    with answering(answers) as url:
        model = await open_openai(f"openai:{url}/v1", "teacher" if "/props" in answers else CODER)
        with pytest.raises(ScoringError, match=said):
            await model.sample(TOKENS, STOP)
        await model.aclose()


@pytest.mark.parametrize("answer", [{}, [], {"tokens": None}, {"tokens": ["a"]}, (403, {}), (405, {}), b"<html>"])
async def test_a_server_that_does_not_tokenize_says_nothing_of_it(answer: Answer) -> None:
    for answers in (vllm(), sglang(), llamacpp({})):
        with answering({**answers, "/tokenize": answer}) as url:
            model = await open_openai(f"openai:{url}/v1", "teacher" if "/props" in answers else CODER)
            assert await model.encode("module") is None
            await model.aclose()


@pytest.mark.parametrize("models", [{}, [], {"data": None}, {"data": ["x"]}, {"data": [7]}, 7, None])
async def test_a_list_of_models_of_any_shape_is_read_or_said(models: Answer) -> None:
    with answering({"/v1/models": models}) as url, pytest.raises(ScoringError, match="has no list of models"):
        await open_openai(f"openai:{url}/v1", CODER)


async def test_a_server_whose_properties_are_odd_is_asked_all_the_same() -> None:
    card = {"id": "teacher", "owned_by": "llamacpp", "aliases": 3, "meta": [], "max_model_len": "many"}
    with answering({"/v1/models": {"data": [card]}, "/props": []}) as url:
        model = await open_openai(f"openai:{url}/v1", "teacher")
        assert (model.kind, model.context) == ("llama.cpp", None)
        await model.aclose()


async def test_a_text_that_does_not_fit_is_told_apart_from_a_server_that_is_busy() -> None:
    with answering(vllm((400, fixture("vllm")["too_long"]))) as url:
        model = await open_openai(f"openai:{url}/v1", CODER)
        with pytest.raises(TooLong, match="maximum context length is 8192"):
            await model.score(TOKENS)
        with pytest.raises(TooLong, match="takes 8191 tokens to score, and the text has 8192"):
            await model.score([1] * 8192)
        await model.aclose()
    with answering(sglang((400, fixture("sglang")["too_long"]))) as url:
        model = await open_openai(f"openai:{url}/v1", CODER)
        with pytest.raises(TooLong):
            await model.score(TOKENS)
        await model.aclose()
    with answering(vllm((503, {"error": "loading"}))) as url:
        model = await open_openai(f"openai:{url}/v1", CODER)
        with pytest.raises(Unreachable, match="answered 503 to /completions: loading"):
            await model.score(TOKENS)
    with pytest.raises(Unreachable, match="cannot be reached"):  # it is gone by now
        await model.score(TOKENS)
    await model.aclose()


@pytest.mark.parametrize(
    ("spec", "model", "said"),
    [
        ("openai:{url}/v1", "Qwen/Qwen3-Coder-30B", f"has no model .*did you mean {CODER}.*it has {CODER}"),
        ("openai:{url}/v2", CODER, "usually ends in /v1"),
        ("openai+vlm:{url}/v1", CODER, "did you mean vllm"),
        ("openai:localhost:8000", CODER, "is not the URL of a server"),
        ("openai:http://", CODER, "is not the URL of a server"),
        ("openai:http://:8000/v1", CODER, "is not the URL of a server"),
        ("openai:http://host:port/v1", CODER, "URL cannot be read"),
        ("openai:http://host:70000/v1", CODER, "URL cannot be read"),
        ("openai:http://[::1/v1", CODER, "URL cannot be read"),
        ("openai:http://ho st/v1", CODER, "is not the URL of a server|cannot be reached"),
    ],
)
async def test_a_wrong_model_or_address_is_said(spec: str, model: str, said: str) -> None:
    with answering(vllm()) as url, pytest.raises(ScoringError, match=said):
        await open_openai(spec.format(url=url), model)


async def test_a_host_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    assert openai_scorer.FIRST_ANSWER_SECONDS < 15
    monkeypatch.setattr(openai_scorer, "FIRST_ANSWER_SECONDS", 0.5)
    silent = await asyncio.start_server(lambda reader, writer: asyncio.sleep(60), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    with pytest.raises(ScoringError, match="did not answer within"):
        await open_openai(f"openai:http://127.0.0.1:{port}/v1", CODER)
    silent.close()


async def test_a_key_never_appears_in_an_error() -> None:
    refusal = (400, {"error": {"message": "the key sk-very-secret may not do this"}})
    with answering(vllm(refusal)) as url:
        model = await open_openai(f"openai:{url}/v1", CODER, "sk-very-secret")
        with pytest.raises(ScoringError) as failure:
            await model.score(TOKENS)
        await model.aclose()
    assert "sk-very-secret" not in f"{failure.value} {model!r}"


def test_rounding_is_forgiven_and_a_prompt_that_is_not_needed_may_be_missing() -> None:
    assert checked(Scores((None, None, 1e-6)), 3, 0, 2, "x").logprobs == (None, None, 0.0)
    with pytest.raises(ScoringError, match="no logprob at position 1"):
        checked(Scores((None, None, -1.0)), 3, 0, 0, "x")
