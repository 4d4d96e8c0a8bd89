"""Problems whose grades take a fraction of a second, and right and wrong answers to them."""

import json
from pathlib import Path

from tests.evaluation.scripted import Body, Told
from tests.training.conftest import GATES, answer, record

EASY, HARD = ("and", "or"), ("xor", "keep")


def write_gates(file: Path) -> Path:
    """Four families; two easy in cid003, two hard in cid004."""
    lines = []
    for name, expression in GATES.items():
        categories = ["cid003", "easy"] if name in EASY else ["cid004", "hard"]
        lines.append(json.dumps({**record(name, expression), "categories": categories}))
    file.write_text("\n".join(lines) + "\n")
    return file


def expression_in(body: Body) -> str:
    """What the question asks for."""
    question = body["messages"][1]["content"]
    return next(gate for gate in GATES.values() if f"y = {gate}." in question)


def right(body: Body) -> Told:
    return Told(answer(expression_in(body)))


def wrong(body: Body) -> Told:
    return Told(answer("1'bx"))
