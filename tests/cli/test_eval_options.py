"""`eval` and `play` ask in the same way: what both take means the same, and begins with the same."""

import inspect
from dataclasses import MISSING, fields

from rtl_agent.cli.eval import evaluate
from rtl_agent.cli.play import play
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.evaluation import EvaluationOptions, ModelSpec
from rtl_agent.options import options_of

EVAL, PLAY = inspect.signature(evaluate).parameters, inspect.signature(play).parameters
OWN = {"out"}  # a result of the one, rollouts of the other
RULES = {known.alias or name for name, known in options_of(EpisodeConfig) if not known.advanced}


def test_shared_options_are_declared_once() -> None:
    shared = EVAL.keys() & PLAY.keys() - OWN
    assert shared >= RULES | {field.name for field in fields(ModelSpec)}
    for name in shared:
        assert EVAL[name].annotation is PLAY[name].annotation, name
        assert EVAL[name].default == PLAY[name].default, name


def test_rules_that_are_left_out_are_those_of_the_run_or_the_defaults() -> None:
    assert {EVAL[name].default for name in RULES} == {None}


def test_other_defaults_are_those_of_the_evaluation_itself() -> None:
    known = [field for kind in (ModelSpec, EvaluationOptions) for field in fields(kind)]
    for field in known:
        if field.default is MISSING:
            continue
        default = EVAL["k" if field.name == "ks" else field.name].default
        assert default == field.default or (field.name == "ks" and default is None), field.name
