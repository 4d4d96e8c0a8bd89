"""`eval` and `play` ask in the same way: what both take means the same, and begins with the same."""

import inspect
from dataclasses import MISSING, fields

from rtl_agent.cli.eval import evaluate
from rtl_agent.cli.play import play
from rtl_agent.evaluation import ModelSpec, Options, Rules

EVAL, PLAY = inspect.signature(evaluate).parameters, inspect.signature(play).parameters
OWN = {"out"}  # a result of the one, rollouts of the other


def test_shared_options_are_declared_once() -> None:
    shared = EVAL.keys() & PLAY.keys() - OWN
    assert shared >= {field.name for kind in (ModelSpec, Rules) for field in fields(kind)}
    for name in shared:
        assert EVAL[name].annotation is PLAY[name].annotation, name
        assert EVAL[name].default == PLAY[name].default, name


def test_defaults_are_those_of_the_evaluation_itself() -> None:
    given = [field for kind in (ModelSpec, Rules, Options) for field in fields(kind) if field.default is not MISSING]
    options = {"timeout_seconds": "timeout", "ks": "k"}
    for field in given:
        default = EVAL[options.get(field.name, field.name)].default
        assert default == field.default or (field.name == "ks" and default is None), field.name
