"""Waves are hostile text: every bound holds, and what is no VCD is a sentence."""

import io
from pathlib import Path

import pytest

from rtl_agent.waves import vcd
from rtl_agent.waves.reader import read_in_child
from rtl_agent.waves.vcd import VcdError, changes, open_vcd
from rtl_agent.waves.window import Failure

HEADER = """$timescale 10 ps $end
$comment rtl-agent port input clk $end
$comment rtl-agent port output q $end
$scope module top $end
$var wire 1 ! clk $end
$var reg 4 " q [3:0] $end
$var real 64 # r $end
$scope begin g[0] $end
$var wire 1 ! \\odd.name $end
$upscope $end
$upscope $end
$enddefinitions $end
"""


def read(text: str | bytes) -> tuple[vcd.Vcd, list[tuple[int, bytes, str]]]:
    found = open_vcd(io.BytesIO(text if isinstance(text, bytes) else text.encode()))
    return found, [change for change in changes(found) if change[1]]


def test_signals_with_their_scopes_and_changes_with_their_times() -> None:
    found, changed = read(HEADER + '#0\n0!\nbx "\nr0.5 #\n#7\n1!\nb101 "\n$comment rtl-agent end $end\n')
    assert (found.fs, found.unit, found.complete, found.notes) == (10_000, "10ps", True, [])
    assert [(one.name, one.width, one.real) for one in found.signals] == [
        ("top.clk", 1, False),
        ("top.q", 4, False),
        ("top.r", 64, True),
        ("top.g[0].odd.name", 1, False),
    ]
    assert found.ports == {"clk": "input", "q": "output"}
    assert changed == [(0, b"!", "0"), (0, b'"', "x"), (0, b"#", "0.5"), (7, b"!", "1"), (7, b'"', "101")]


def test_a_header_on_one_line_and_with_crlf_is_the_same() -> None:
    one_line = HEADER.replace("\n", " ")
    assert read(one_line + "\n#0\n1!\n")[1] == read((HEADER + "#0\n1!\n").replace("\n", "\r\n"))[1] == [(0, b"!", "1")]


@pytest.mark.parametrize("cut", range(0, len(HEADER) + 20, 17))
def test_a_file_that_ends_anywhere_is_read_as_far_as_it_goes(cut: int) -> None:
    text = (HEADER + '#0\n0!\nb1010 "\n#10\n')[:cut]
    if cut < len(HEADER) - 1:
        with pytest.raises(VcdError, match=r"^the (file of )?waves"):
            read(text)
    else:
        assert "the simulation was stopped while the waves were written" in read(text)[0].notes


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("#5\n#4\n", "go back in time"),
        ("#-1\n", "a time that is no number"),
        ("#1e5\n", "a time that is no number"),
        ("#99999999999999999999999999\n", "a time that is no number"),
        ("#18446744073709551616\n", "a time that is no number"),
        ('b11111 "\n', "a value that it cannot have"),
        ('b1<script> "\n', "a value that it cannot have"),
        ('b "\n', "a value that it cannot have"),
        ("\x00\xff\x7fELF\n", "no change of a value"),
        ("b" + "1" * 70_000 + ' "\n', "longer than any value"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(body: str, said: str) -> None:
    with pytest.raises(VcdError, match=said):
        read((HEADER + body).encode("latin-1"))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00" * 10_000,
        b"\x7fELF" + bytes(range(256)) * 40,
        b"$scope module " * 10_000,
        b"hello",
        b"$var\n" * 10_000,
    ],
)
def test_rubbish_is_no_vcd(text: bytes) -> None:
    with pytest.raises(VcdError):
        read(text)


def test_a_missing_time_scale_of_another_unit_is_refused() -> None:
    with pytest.raises(VcdError, match="time scale"):
        read(HEADER.replace("10 ps", "7 weeks"))


def test_too_deep_scopes_are_refused_and_too_many_ends_ignored() -> None:
    with pytest.raises(VcdError, match="deep"):
        read("$scope module a $end\n" * 1000 + HEADER)
    assert len(read("$upscope $end\n" * 1000 + HEADER)[0].signals) == 4


def test_too_many_and_too_wide_signals_are_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vcd, "MOST_SIGNALS", 50)
    more = "".join(f"$var wire 1 a{number} s{number} $end\n" for number in range(100))
    found, _ = read(HEADER.replace("$scope begin", more + "$scope begin"))
    assert (len(found.signals), found.notes[0]) == (50, "left out signals")
    wide = "".join(f"$var wire {width} % s $end\n" for width in ("1000000000", "0", "-4", "9" * 30, "0x10"))
    assert len(read(HEADER.replace("$scope begin", wide + "$scope begin"))[0].signals) == 4


def test_names_are_cut_and_hold_nothing_but_printable_ascii() -> None:
    name = "\\<img\x1b[31m\u202e" + "n" * 5000
    (signal, *_) = read(HEADER.replace("clk $end", f"{name} $end"))[0].signals
    assert len(signal.path[1]) == vcd.MOST_LETTERS
    assert all("!" <= letter <= "~" for letter in signal.path[1])


def test_ids_that_collide_give_every_signal_of_that_id_its_changes(tmp_path: Path) -> None:
    text = HEADER.replace('4 "', "4 !").replace("$enddefinitions", "$var wire 1 ! top $end\n$enddefinitions")
    file = tmp_path / "collide.vcd"
    file.write_text(text + "#0\n1!\n#5\n0!\n")
    shown = read_in_child(file, Failure(0.02, None))["candidate"]["signals"]
    assert {one["name"]: len(one["changes"]) for one in shown} == {
        "top.clk": 2,
        "top.q": 2,
        "top.g[0].odd.name": 2,
        "top": 2,
    }


def test_a_gigabyte_is_read_up_to_the_bound(tmp_path: Path) -> None:
    file = tmp_path / "sparse.vcd"
    with file.open("wb") as stream:
        stream.write(HEADER.encode() + b"#0\n1!\n")
        stream.truncate(1 << 30)  # the rest is zeros
    with pytest.raises(VcdError, match="longer than any value"):
        read_in_child(file, Failure(1.0, None))


def test_what_is_too_long_is_read_up_to_the_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vcd, "MOST_BYTES", 2 * 1024 * 1024)
    found, changed = read(HEADER + "#0\n" + "1!\n0!\n" * 1_000_000)
    assert found.notes[0] == "read up to 2 MiB only"
    assert len(changed) < 1_000_000


def test_a_reader_that_takes_too_much_is_a_sentence_and_not_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rtl_agent.waves.reader.SECONDS", 0.01)
    file = tmp_path / "some.vcd"
    file.write_text(HEADER)
    with pytest.raises(VcdError, match="could not be read within"):
        read_in_child(file, Failure(1.0, None))
