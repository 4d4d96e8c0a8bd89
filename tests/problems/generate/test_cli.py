"""`rtl-agent problems generate` and `mutate` write what the readers of this package and programs understand."""

import json
from pathlib import Path

from typer.testing import CliRunner

from rtl_agent.cli.problems import app
from rtl_agent.problems import load_problems
from rtl_agent.problems.generate import HELD_OUT_WHOLE, generate, mutants
from rtl_agent.problems.generate import instances as drawn


def run(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(args))
    assert result.exit_code == code, result.output
    return result.output


def test_generated_problems_can_be_read_again(tmp_path: Path) -> None:
    file = tmp_path / "generated.jsonl"
    file.write_text(run("generate", "--seed", "4", "--count", "5", "--split", "held-out"))
    assert load_problems(str(file)) == generate(4, 5, split="held-out")


def test_mutate_writes_the_near_misses_of_the_same_problems() -> None:
    lines = [json.loads(line) for line in run("mutate", "--seed", "4", "--count", "2", "--family", "mux").splitlines()]
    problems = generate(4, 2, families=["mux"])
    assert list(dict.fromkeys(line["id"] for line in lines)) == [problem.id for problem in problems]
    for instance, problem in zip(drawn(4, 2, families=["mux"]), problems, strict=True):
        assert {target for line in lines if line["id"] == problem.id for target in line["files"]} == {instance.target}
        given = {line["name"]: line["files"][instance.target] for line in lines if line["id"] == problem.id}
        assert given.pop("habitual").startswith(f"module {instance.spec.module} (")
        assert given == {mutant.name: mutant.design for mutant in mutants(instance) if not mutant.may_be_equivalent}


def test_a_family_that_is_not_there_is_named() -> None:
    assert "there is no family 'cpu'" in run("generate", "--family", "cpu", code=2)
    assert "held out whole" in run("generate", "--family", HELD_OUT_WHOLE[0], code=2)
