"""What is seen while a run goes on: plain lines in a log, curves on a terminal."""

import io

from rich.console import Console

from rtl_agent.training.monitor import Display, curve

STEP = {"env/all/reward/total": 0.4, "env/all/pass_rate": 0.25, "teacher_kl": 1.5, "time/total": 2.0}


def test_a_log_has_a_line_for_each_step() -> None:
    seen = io.StringIO()
    with Display(Console(file=seen, width=200), total=2) as display:
        display.step(0, STEP)
        display.step(1, {**STEP, "env/all/pass_rate": 0.5})
    assert seen.getvalue().splitlines() == [
        "step 1/2  reward 0.400  pass 25%  KL 1.500  2.0 s",
        "step 2/2  reward 0.400  pass 50%  KL 1.500  2.0 s",
    ]


def test_a_terminal_shows_curves_from_their_first_value_to_their_newest() -> None:
    seen = io.StringIO()
    with Display(Console(file=seen, width=120, force_terminal=True), total=2) as display:
        display.step(0, STEP)
        display.step(1, {**STEP, "env/all/pass_rate": 0.5})
    last = seen.getvalue().rpartition("training")[2]
    assert "25%" in last
    assert "▅█" in last
    assert "50%" in last


def test_a_long_curve_is_averaged_down_and_a_flat_one_is_drawn() -> None:
    assert curve([1.0] * 100, width=4) == "████"
    assert curve([0.0, 0.0]) == "▁▁"
    assert curve([]) == ""
