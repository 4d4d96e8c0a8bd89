"""Every version is named in one place."""

import re
from pathlib import Path

from rtl_agent.problems.problem import CocotbVersion
from rtl_agent.toolchain.pins import COCOTB_VERSIONS, CVDP_PINS, requirements
from rtl_agent.toolchain.versions import verilator_version

ROOT = Path(__file__).parents[2]


def test_every_cocotb_version_of_harness_has_an_environment() -> None:
    assert {cocotb_version.value for cocotb_version in CocotbVersion} == set(COCOTB_VERSIONS)


def test_every_package_is_pinned() -> None:
    for version in COCOTB_VERSIONS:
        assert all(re.match(r"[\w-]+==[\d.]+(;|$)", package) for package in requirements(version))


def test_what_cvdp_pins_is_what_we_install() -> None:
    pins = dict(package.partition(";")[0].split("==") for package in requirements(COCOTB_VERSIONS[0]))
    assert pins["cocotb"] == CVDP_PINS["cocotb"]
    assert pins["pytest"] == CVDP_PINS["pytest"]
    assert verilator_version(pins["verilator"]) == CVDP_PINS["verilator"]


def test_no_other_file_of_the_set_up_names_a_version() -> None:
    pinned = {package.partition(";")[0] for version in COCOTB_VERSIONS for package in requirements(version)}
    files = [ROOT / "Makefile", ROOT / "scripts" / "setup.sh", *(ROOT / "rtl_agent" / "toolchain").glob("*.py")]
    for file in files:
        if file.name != "pins.py":
            assert not [package for package in pinned if package in file.read_text()], file
