"""What a failed test's message tells, in the forms that harnesses have."""

import pytest

from rtl_agent.waves.message import Told, read_message

NAMES = ("grant", "gray", "count", "tc", "rise", "fall", "error_flag", "q")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("after req=ff: grant expected 0x1, got 0x80\nassert 128 == 1", Told("grant", "0x1", "0x80")),
        ("count: expected 5 held, got 3", Told("count", "5", "3")),
        ("tc: expected 1 (count 0, counting down, in reset), got 0", Told("tc", "1", "0")),
        ("(rise, fall): expected (1, 0), got (1, 1) in cycle 3", Told("fall", "0", "1")),
        ("(other, fall): expected (1, 0), got (0, 0)", Told(None, "1", "0")),
        ("Expected error_flag=1, Got error_flag=0", Told("error_flag", "1", "0")),
        ("q got 3 instead of 4", Told("q", "4", "3")),
        ("[ERROR] q does not match: 0x5 != 0x6", Told("q", "0x6", "0x5")),
        ("assert 3 == 7", Told(None, "7", "3")),
        ("gray has unknown bits: xx after reset", Told("gray")),
        ("Test failed: Expected 7, got 9", Told(None, "7", "9")),
        ("the sum is wrong", Told()),
        ("", Told()),
        (None, Told()),
    ],
)
def test_signal_and_values(message: str | None, told: Told) -> None:
    assert read_message(message, NAMES) == told


@pytest.mark.parametrize("piece", ["expected ", "got ", "(", "a,", "assert ", "!= ", "expected (a, ", "x=", "1 ", "\n"])
def test_hostile_messages_take_no_time(piece: str) -> None:
    assert isinstance(read_message(piece * 100_000, NAMES), Told)
