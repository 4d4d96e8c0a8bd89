"""Datasets: sides by family, order by seed and number alone, and a sentence for whatever is left out."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.task_sampler import EnvDataset, NoTasks, TaskSampler, fitting, gradable, partition
from rtl_agent.problems import Kind, Needs, Problem, load_problems

PROBLEMS = tuple(load_problems("bundled"))


def builder_of(problem: Problem, max_prompt_tokens: int | None = None) -> ProblemGroupBuilder:
    config = EpisodeConfig(system="default", max_prompt_tokens=max_prompt_tokens or 0)
    return ProblemGroupBuilder(problem, 2, "rtl-agent/student", "rtl_agent", config)


def test_no_family_is_on_both_sides_and_none_is_lost() -> None:
    sides = partition(PROBLEMS, held_out=0.4, seed=3)
    train, held_out = ({problem.family for problem in side} for side in (sides.train, sides.held_out))
    assert train
    assert held_out
    assert not train & held_out
    assert {problem.id for problem in (*sides.train, *sides.held_out)} == {problem.id for problem in PROBLEMS}


def test_a_familys_side_does_not_depend_on_the_others() -> None:
    alone = [partition([problem]).train != () for problem in PROBLEMS]
    together = partition(PROBLEMS).train
    assert alone == [problem in together for problem in PROBLEMS]


@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 2**40), st.integers(1, 4))
def test_every_epoch_has_every_problem_once(count: int, batch_size: int, seed: int, epochs: int) -> None:
    problems = tuple(replace(PROBLEMS[0], id=str(number)) for number in range(count))
    data = TaskSampler(problems, batch_size, seed=seed, epochs=epochs)
    for epoch in range(epochs):
        numbers = range(epoch * data.batches_per_epoch, (epoch + 1) * data.batches_per_epoch)
        seen = [problem.id for number in numbers for problem in data.batch(number)]
        assert sorted(seen) == sorted(problem.id for problem in problems)
        assert all(1 <= len(data.batch(number)) <= batch_size for number in numbers)
    assert len(data) == epochs * data.batches_per_epoch


def test_a_batch_is_the_same_whoever_asks_and_in_whatever_order() -> None:
    data = TaskSampler(PROBLEMS, 4, seed=7, epochs=3)
    forwards = [data.batch(number) for number in range(len(data))]
    again = TaskSampler(PROBLEMS, 4, seed=7, epochs=3)
    assert [again.batch(number) for number in reversed(range(len(data)))][::-1] == forwards
    assert [problem.id for problem in forwards[0]] == [problem.id for problem in data.batch(0)]


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    def order(seed: int, epoch: int) -> list[str]:
        data = TaskSampler(PROBLEMS, len(PROBLEMS), seed=seed, epochs=2)
        return [problem.id for problem in data.batch(epoch)]

    assert len({tuple(order(seed, epoch)) for seed in (0, 1) for epoch in (0, 1)}) == 4


def test_an_empty_dataset_says_so() -> None:
    with pytest.raises(NoTasks, match="no problems are left"):
        TaskSampler((), 4)


def test_nonsense_sizes_say_so() -> None:
    with pytest.raises(ValueError, match="batch_size is 0"):
        TaskSampler(PROBLEMS, 0)
    with pytest.raises(IndexError):
        TaskSampler(PROBLEMS, 2).batch(-1)


def test_what_cannot_be_asked_or_graded_is_left_out_with_a_sentence() -> None:
    plain = replace(PROBLEMS[0], kind=Kind.SINGLE_SHOT, needs=Needs.OPEN_TOOLS)
    agentic = replace(plain, id="workspace", kind=Kind.AGENTIC)
    licensed = replace(plain, id="licensed", needs=Needs.COMMERCIAL)
    kept, said = gradable([agentic, plain, licensed])
    assert kept == [plain]
    assert said[0].startswith("workspace is left out: it is agentic")
    assert "licensed is left out: it needs Cadence Xcelium" in said[1]


def test_prompts_that_cannot_be_cut_to_fit_are_left_out_with_a_sentence(bundled: dict[str, Problem]) -> None:
    short, long = bundled["rtl_mod_counter_0001"], bundled["rtl_alu_0001"]
    long = replace(long, prompt=long.prompt * 5)
    kept, said = fitting([long, short], lambda problem: builder_of(problem, 1_500))
    assert [problem.id for problem in kept] == [short.id]
    assert said[0].startswith(f"left out: {long.id}: the prompt without its context files has ")
    assert "1500 are allowed" in said[0]


def test_the_cookbooks_loops_get_builders(bundled: dict[str, Problem]) -> None:
    problems = TaskSampler(PROBLEMS, 3)
    data = EnvDataset(problems, builder_of(PROBLEMS[0]))
    assert len(data) == len(problems)
    batch = data.get_batch(1)
    assert [builder.problem for builder in batch] == list(problems.batch(1))  # type: ignore[attr-defined]
