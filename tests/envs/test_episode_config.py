"""One set of rules for every episode: names, bounds, help, and no torch or tinker to read them."""

import subprocess
import sys
from dataclasses import fields

import pytest

from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.options import BadOption, options_of


def test_every_rule_is_an_option_with_a_help_text() -> None:
    known = dict(options_of(EpisodeConfig))
    assert set(known) == {one.name for one in fields(EpisodeConfig)}
    assert all(len(one.help) > 10 for one in known.values())


def test_the_flat_names_of_the_options_are_distinct() -> None:
    flat = [known.alias or name for name, known in options_of(EpisodeConfig)]
    assert len(set(flat)) == len(flat)
    assert {"env", "level", "max_turns", "max_tokens"} <= set(flat)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("max_tokens", 0, "max_tokens=0: it must be 1 or more"),
        ("rounds", -1, "rounds=-1: it must be 0 or more"),
        ("timeout_seconds", 0.0, "timeout_seconds=0.0: it must be more than 0"),
        ("timeout_seconds", float("nan"), "timeout_seconds=nan: it must be more than 0"),
        ("level", "opne", "level=opne: choose from spec, own-tests, feedback, open (did you mean open?)"),
        ("refine_reward", "mean", "refine_reward=mean: choose from best, last"),
        ("extraction", "cvpd", "extraction=cvpd: choose from forgiving, cvdp (did you mean cvdp?)"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_a_sentence(name: str, value: object, said: str) -> None:
    with pytest.raises(BadOption) as raised:
        EpisodeConfig(**{name: value})  # type: ignore[arg-type]
    assert str(raised.value) == said


def test_rules_can_be_read_without_torch_and_tinker() -> None:
    code = "import sys; import rtl_agent.envs.episode_config; print({'torch', 'tinker', 'chz'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
