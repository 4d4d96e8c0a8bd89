"""Options that the steps already done depend on: a run does not go on with others."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from rtl_agent.runs import RunWriter
from rtl_agent.training.config import to_json
from rtl_agent.training.errors import TrainingError
from rtl_agent.training.parse import parse
from rtl_agent.training.start import start


@pytest.mark.parametrize(
    "changed",
    [
        "emphasis=mux*2",
        "max_prompt_tokens=2000",
        "command_seconds=5",
        "reward=binary",
        "format_coef=0.2",
        "interface_coef=0.2",
        "syntax_coef=0.2",
        "test_coef=0.2",
        "exam_seed=1",
        "extraction=cvdp",
    ],
)
def test_a_run_does_not_go_on_with_other_questions_or_other_rewards(gates: Path, tmp_path: Path, changed: str) -> None:
    words = [f"cvdp_jsonl_path={gates}", f"log_path={tmp_path / 'run'}", "behavior_if_log_dir_exists=resume"]
    config = to_json(parse("rl", words))
    with RunWriter.create(tmp_path / "run", config, if_exists="raise") as run:
        before = (run.path / "config.json").read_text()
    with pytest.raises(TrainingError) as refused:
        start(parse("rl", [*words, changed]), Console(file=io.StringIO()))
    assert f"cannot resume with another value of {changed.partition('=')[0]}" in str(refused.value)
    assert (tmp_path / "run" / "config.json").read_text() == before
