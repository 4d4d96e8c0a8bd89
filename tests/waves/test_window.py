"""Which cycles are shown: around the failure, and from the first difference to the reference."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.waves import window
from rtl_agent.waves.reader import read_in_child
from rtl_agent.waves.vcd import MOST_BITS
from rtl_agent.waves.window import Failure, read_windows

PERIOD = 10


def write(path: Path, values: Sequence[str], *, shift: int = 0, scale: str = "1ns", end: int | None = None) -> Path:
    """A design whose `q` has these values from one rising edge to the next."""
    lines = [
        f"$timescale {scale} $end",
        *(f"$comment rtl-agent port {way} {name} $end" for way, name in (("input", "clk"), ("output", "q"))),
        *("$scope module top $end", "$var wire 1 ! clk $end", '$var reg 4 " q [3:0] $end'),
        *("$scope module inner $end", "$var reg 8 # deep [7:0] $end", "$upscope $end"),
        *("$upscope $end", "$enddefinitions $end", "#0", "0!", 'bx "', "b0 #"),
    ]
    for at, value in enumerate(values):
        lines += [f"#{shift + at * PERIOD + 5}", "1!", f'b{value} "', f"#{shift + (at + 1) * PERIOD}", "0!"]
    lines += [f"#{end if end is not None else shift + len(values) * PERIOD}", "$comment rtl-agent end $end"]
    path.write_text("\n".join(lines) + "\n")
    return path


def counting(count: int, wrong_at: int = -1) -> list[str]:
    return [f"{(at + (at == wrong_at)) % 16:b}" for at in range(count)]


def both(found: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return found["candidate"], found["reference"]


def test_twenty_cycles_around_the_failure_ports_first(tmp_path: Path) -> None:
    found = read_windows(write(tmp_path / "a.vcd", counting(100)), Failure(500.0, "q: expected 1, got 2"))
    waves = found["candidate"]
    assert (waves["from"], waves["to"], waves["fail_time"]) == (360, 560, 500)
    assert [one["name"] for one in waves["signals"]] == ["top.clk", "top.q", "top.inner.deep"]
    assert [one["direction"] for one in waves["signals"]] == ["input", "output", "inner"]
    assert (waves["failing_signal"], waves["expected"], waves["got"]) == ("top.q", "1", "2")
    (_, q, deep) = waves["signals"]
    assert (q["changes"][0], len(q["changes"])) == ([360, "11"], 21)  # its value at the start, then 20 cycles
    assert deep["changes"] == [[360, "0"]]
    assert waves["truncated"]
    assert found["reference"] is None


def test_the_first_cycle_that_differs_is_found_and_shown_with_the_failure(tmp_path: Path) -> None:
    own = write(tmp_path / "own.vcd", counting(100, wrong_at=20))
    ref = write(tmp_path / "ref.vcd", counting(100))
    mine, its = both(read_windows(own, Failure(500.0, None), ref))
    assert mine["differs_at"] == its["differs_at"] == 205
    assert mine["from"] <= 205 < 500 <= mine["to"]
    assert (its["from"], its["to"]) == (mine["from"], mine["to"])
    assert mine["failing_signal"] == "top.q"  # the message names none: the output that differs


def test_designs_that_do_not_differ_have_no_first_difference(tmp_path: Path) -> None:
    own, ref = (write(tmp_path / name, counting(50)) for name in ("own.vcd", "ref.vcd"))
    mine, _ = both(read_windows(own, Failure(100.0, None), ref))
    assert (mine["differs_at"], mine["failing_signal"]) == (None, None)


def test_bits_that_the_reference_leaves_open_may_be_anything(tmp_path: Path) -> None:
    own = write(tmp_path / "own.vcd", ["1010"] * 30)
    ref = write(tmp_path / "ref.vcd", ["1z1x"] * 30)
    assert both(read_windows(own, Failure(100.0, None), ref))[0]["differs_at"] is None


def test_before_a_first_value_open_bits_of_a_candidate_do_not_count(tmp_path: Path) -> None:
    own = write(tmp_path / "own.vcd", ["x", "x", "1", "1", "x", "1", "0"])
    ref = write(tmp_path / "ref.vcd", ["0", "0", "1", "1", "1", "1", "1"])
    assert both(read_windows(own, Failure(60.0, None), ref))[0]["differs_at"] == 45


def test_an_output_that_never_has_a_value_differs_at_once(tmp_path: Path) -> None:
    own, ref = write(tmp_path / "own.vcd", ["z"] * 9), write(tmp_path / "ref.vcd", ["0"] * 9)
    assert both(read_windows(own, Failure(60.0, None), ref))[0]["differs_at"] == 5


def test_what_earlier_tests_did_is_not_compared(tmp_path: Path) -> None:
    own = write(tmp_path / "own.vcd", [*counting(16, wrong_at=3), *counting(30, wrong_at=9)])
    ref = write(tmp_path / "ref.vcd", [*counting(16), *counting(30)])
    assert both(read_windows(own, Failure(300.0, None, began_ns=160.0), ref, 160.0))[0]["differs_at"] == 255


def test_what_later_tests_do_is_not_compared(tmp_path: Path) -> None:
    own = write(tmp_path / "own.vcd", counting(50, wrong_at=20))
    ref = write(tmp_path / "ref.vcd", counting(50))
    assert both(read_windows(own, Failure(204.0, None), ref))[0]["differs_at"] is None
    assert both(read_windows(own, Failure(205.0, None), ref))[0]["differs_at"] == 205


def test_a_reference_whose_test_began_later_is_moved(tmp_path: Path) -> None:
    own = write(tmp_path / "own.vcd", counting(30, wrong_at=12))
    ref = write(tmp_path / "ref.vcd", counting(30), shift=70)
    mine, its = both(read_windows(own, Failure(200.0, None, began_ns=0.0), ref, 70.0))
    assert mine["differs_at"] == 125
    assert any("moved by -70 ticks" in note for note in mine["notes"])
    (q,) = (one for one in its["signals"] if one["name"] == "top.q")
    assert [125, "1100"] in q["changes"]


def test_a_difference_far_before_the_failure_is_what_is_shown(tmp_path: Path) -> None:
    own = write(tmp_path / "own.vcd", counting(2000, wrong_at=20))
    ref = write(tmp_path / "ref.vcd", counting(2000))
    mine, _ = both(read_windows(own, Failure(19_000.0, None), ref))
    assert mine["from"] <= 205 <= mine["to"] < 1000
    assert mine["fail_time"] is None
    assert any("failed at 19000" in note for note in mine["notes"])


def test_a_reference_in_another_time_unit_is_not_compared(tmp_path: Path) -> None:
    own, ref = write(tmp_path / "own.vcd", counting(9)), write(tmp_path / "ref.vcd", counting(9), scale="1ps")
    found = read_windows(own, Failure(50.0, None), ref)
    assert found["reference"] is None
    assert found["candidate"]["notes"] == ["the reference has another time unit, and is not shown"]


def test_a_window_has_a_bound_on_its_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "MOST_CHANGES", 30)
    waves = read_windows(write(tmp_path / "a.vcd", counting(100)), Failure(500.0, None))["candidate"]
    assert [one["name"] for one in waves["signals"]] == []  # the clock alone has more
    assert waves["truncated"]


def test_a_port_of_many_thousand_bits_takes_no_more_memory_than_its_file(tmp_path: Path) -> None:
    """A file writes a small value of a wide signal in a few letters; 100,000 of 65,536 bits each would be 6 GB."""
    wide = tmp_path / "wide.vcd"
    head = "$timescale 1ns $end\n$comment rtl-agent port output q $end\n$scope module top $end\n"
    changing = "".join(f"#{at}\nb{at % 2} !\n" for at in range(100_000))
    wide.write_text(f"{head}$var wire {MOST_BITS} ! q $end\n$upscope $end\n$enddefinitions $end\n{changing}")
    other = tmp_path / "other.vcd"
    other.write_text(wide.read_text().replace("#90000\nb0 !", "#90000\nb100 !"))
    found = read_in_child(wide, Failure(90_005.0, None), other)["candidate"]
    assert (found["differs_at"], found["failing_signal"]) == (90_000, "top.q")


def test_a_jump_to_the_end_of_time_is_no_fault(tmp_path: Path) -> None:
    path = write(tmp_path / "a.vcd", counting(20), end=2**64 - 1)
    waves = read_windows(path, Failure(None, "the simulation ended early"))["candidate"]
    assert waves["to"] == 2**64 - 1


def test_a_design_without_a_clock_and_without_signals(tmp_path: Path) -> None:
    path = tmp_path / "empty.vcd"
    path.write_text("$timescale 1s $end\n$scope module top $end\n$upscope $end\n$enddefinitions $end\n#0\n#5\n")
    waves = read_windows(path, Failure(5.0, None))["candidate"]
    assert (waves["signals"], waves["from"] < waves["to"]) == ([], True)
