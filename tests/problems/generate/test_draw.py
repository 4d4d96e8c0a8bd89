"""Instances by seed: repeatable, apart on the two sides of the split, and with names that a design can have."""

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rtl_agent.problems import Problem, Split, as_record, parse_record
from rtl_agent.problems.generate import (
    HELD_OUT_WHOLE,
    LONGER,
    TRAINED,
    Instance,
    UnknownFamily,
    answer,
    as_problem,
    as_workspace,
    generate,
    habitual_answer,
    identifier,
    instances,
    side_of,
)
from rtl_agent.problems.generate import names as pools
from rtl_agent.problems.generate.as_problem import vectors_json
from rtl_agent.problems.generate.names import KEYWORDS

ROOT = Path(__file__).resolve().parents[3]
EVERY = (*TRAINED, *HELD_OUT_WHOLE, *LONGER)


@pytest.fixture(scope="module")
def train() -> list[Instance]:
    return instances(1, 40 * len(TRAINED))


@pytest.fixture(scope="module")
def held_out() -> list[Instance]:
    return instances(1, 40 * len(EVERY), families=EVERY, split="held-out")


def names_of(instance: Instance) -> list[str]:
    ports = instance.family.ports(instance.spec.choices)
    return [instance.spec.module, *(instance.spec[port.role] for port in ports)]


def test_there_are_twelve_families_to_train_on_and_some_that_are_held_out_whole() -> None:
    assert len(TRAINED) >= 12
    assert HELD_OUT_WHOLE
    assert not set(TRAINED) & set(HELD_OUT_WHOLE)


def test_the_same_seed_gives_the_same_problems_in_another_process() -> None:
    code = "from rtl_agent.problems.generate import *; print(*map(identifier, instances(7, 32)), sep='\\n')"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == [identifier(instance) for instance in instances(7, 32)]
    assert generate(7, 8) == generate(7, 8)


def test_another_seed_gives_other_problems() -> None:
    first, second = ({identifier(instance) for instance in instances(seed, 60)} for seed in (1, 2))
    assert len(first) == len(second) == 60
    assert not first & second


def test_a_longer_list_begins_with_the_shorter_one() -> None:
    assert instances(3, 30)[:10] == instances(3, 10)


def test_both_sides_differ_in_parameters_and_in_names(train: list[Instance], held_out: list[Instance]) -> None:
    for key in ("parameters_key", "names_key"):
        seen = {getattr(instance.spec, key) for instance in train}
        unseen = {getattr(instance.spec, key) for instance in held_out}
        assert not seen & unseen
        assert {side_of(text) for text in seen} == {Split.TRAIN}


def test_families_held_out_whole_are_not_for_training(train: list[Instance]) -> None:
    assert {instance.spec.family for instance in train} == set(TRAINED)
    with pytest.raises(UnknownFamily, match=r"held out whole; ask for it with split='held-out'"):
        instances(1, 1, families=HELD_OUT_WHOLE[:1])
    with pytest.raises(UnknownFamily, match="there is no family 'cpu'; there are: arbiter"):
        instances(1, 1, families=["cpu"])


def test_names_are_distinct_and_no_keywords(train: list[Instance], held_out: list[Instance]) -> None:
    for instance in (*train, *held_out):
        names = [*names_of(instance), *instance.family.inside]
        assert len(set(names)) == len(names)
        assert not KEYWORDS & set(names)
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
    assert not KEYWORDS & {name for pool in vars(pools).values() if isinstance(pool, tuple) for name in pool}


def test_no_name_is_a_word_of_prose(train: list[Instance]) -> None:
    words = tomllib.loads((ROOT / "scripts" / "tokenizer_words.toml").read_text())
    prose = {*words["prose"].split(), *words["keywords"].split()} - set(words["names"].split())
    assert not prose & {name for instance in train for name in names_of(instance)}


def test_a_specification_names_every_port(train: list[Instance], held_out: list[Instance]) -> None:
    for instance in (*train, *held_out):
        for name in names_of(instance):
            assert re.search(rf"\b{name}\b", instance.text)


def test_all_interface_styles_and_both_ends_of_every_choice_occur(train: list[Instance]) -> None:
    texts = [instance.text for instance in train]
    for part in ("It has input", "\n- input", "| name | port | width |"):
        assert sum(part in text for text in texts) > len(texts) / 6
    clockings = {instance.spec.clocking for instance in train if instance.spec.clocking is not None}
    assert len(clockings) == 8  # edge, polarity, kind


def test_a_problem_is_a_record_of_cvdps_form_that_shows_nothing_hidden(held_out: list[Instance]) -> None:
    for instance in held_out[:: len(held_out) // 20]:
        problem = as_problem(instance)
        assert parse_record(as_record(problem)) == problem
        assert problem.family == f"generated_{instance.spec.family}"
        assert problem.reference == {instance.target: instance.reference}
        assert not problem.context
        assert not any("module " in text for path, text in problem.harness.files.items() if path.endswith(".py"))


def test_only_the_data_of_a_harness_differs_between_problems() -> None:
    first, second = (problem.harness.files for problem in generate(1, 2))
    same = {path for path in first if first[path] == second[path]}
    assert same == {"docker-compose.yml", "src/test_runner.py", "src/replay.py"}


def test_a_design_that_opens_its_harness_finds_no_expected_outputs_in_the_clear(held_out: list[Instance]) -> None:
    for instance in held_out[:: len(held_out) // 20]:
        steps = json.loads(vectors_json(instance))
        expected = {json.dumps(outputs, separators=(",", ":")) for _, outputs in steps if outputs is not None}
        assert len(expected) > 1
        text = "".join(as_problem(instance).harness.files.values())
        assert not any(bits in text for bits in expected)


def test_the_habitual_answer_keeps_the_module_name_and_little_else(train: list[Instance]) -> None:
    for instance in train:
        habit = habitual_answer(instance)
        assert habit.startswith(f"module {instance.spec.module} (")
        assert ("negedge rst_n" in habit) == instance.family.clocked
    assert sum(habitual_answer(one) == one.reference for one in train) < len(train) / 100


def test_an_answer_is_one_fenced_block() -> None:
    assert answer("module a;\nendmodule\n") == "```verilog\nmodule a;\nendmodule\n```"


def digest(problems: list[Problem]) -> str:
    """Of everything that a problem is made of, in order."""
    text = hashlib.sha256()
    for problem in problems:
        services = [(one.name, one.argv, list(one.env.items()), one.src_writable) for one in problem.harness.services]
        whole = (
            *(problem.id, problem.family, problem.category, problem.difficulty, str(problem.kind), str(problem.needs)),
            *(problem.prompt, dict(problem.context), problem.targets, list(problem.harness.files.items()), services),
            *(str(problem.harness.cocotb_version), dict(problem.reference or {}), problem.system_message),
            *(problem.answer, problem.source),
        )
        text.update(repr(whole).encode())
    return text.hexdigest()


def test_problems_are_to_the_bit_those_that_the_shipped_weights_were_trained_on() -> None:
    unseen = generate(77_000, 96, split=Split.HELD_OUT)
    assert digest(unseen) == "9022a32585d85b806580098af185b9407cd788dca13b0fd93286d02aa0e69372"
    new = generate(77_000, 32, families=HELD_OUT_WHOLE, split=Split.HELD_OUT)
    assert digest(new) == "23b786f8001b45f87d2e1443b9c8bd55ffb0c0633eb1a3069019a5bc90f6a4aa"
    workspaces = [as_workspace(problem) for problem in unseen]
    assert digest(workspaces) == "4ffe2402c2b19bccdaa3c710e89cd07bcbb07647aae9515d1f1b5eb44f515ad5"
    trained = generate(7, 480)
    assert digest(trained) == "9d2fb95b096d6e6963a7d7e7aae908c42a6235db6f1d0c8a77c9de647e933d3e"
