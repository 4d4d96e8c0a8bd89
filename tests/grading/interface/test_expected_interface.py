"""What a harness needs is read from its Python: only names that a test really reaches."""

import textwrap

import pytest

from rtl_agent.grading.interface import ExpectedInterface, ExpectedPort, expected_interface
from rtl_agent.problems import CocotbVersion, Harness, Service, load_problems

RUNNER = """
    import os
    import pytest
    from cocotb_tools.runner import get_runner

    top = os.getenv("TOPLEVEL")

    def build(parameters={}):
        runner = get_runner(os.getenv("SIM", "icarus"))
        runner.build(sources=[], hdl_toplevel=top, parameters=parameters)
        runner.test(hdl_toplevel=top, test_module=os.environ.get("MODULE"))
"""
PLAIN_RUNNER = RUNNER + "\n    def test_it():\n        build()\n"
PYTEST = ("pytest", "-o", "cache_dir=/code/rundir", "/src/test_runner.py", "-v")


def harness(tests: str, runner: str = PLAIN_RUNNER, services: tuple[Service, ...] = (), **more: str) -> Harness:
    files = {"src/test_runner.py": runner, "src/test_dut.py": tests}
    files |= {f"src/{name}.py": text for name, text in more.items()}
    files = {path: textwrap.dedent(text) for path, text in files.items()}
    env = {"TOPLEVEL": "dut", "MODULE": "test_dut", "SIM": "icarus"}
    return Harness(files, services or (Service("direct", PYTEST, env, False),), CocotbVersion.V2)


def needed(tests: str, runner: str = PLAIN_RUNNER, **more: str) -> ExpectedInterface:
    header = "import cocotb\nfrom cocotb.clock import Clock\nfrom cocotb.triggers import RisingEdge, FallingEdge\n"
    (only,) = expected_interface(harness(header + textwrap.dedent(tests), runner, (), **more))
    return only


def names(interface: ExpectedInterface) -> set[str]:
    return {port.name for port in interface.ports}


def directions(interface: ExpectedInterface) -> dict[str, str | None]:
    return {port.name: port.direction for port in interface.ports}


def test_driven_names_are_inputs_and_read_names_have_no_known_direction() -> None:
    found = needed("""
        @cocotb.test()
        async def works(dut):
            cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
            dut.data_in.value = 3
            dut.bits[2].value = 1
            await RisingEdge(dut.clk)
            dut._log.info(f"{dut._name}")
            assert dut.data_out.value == 3
    """)
    assert directions(found) == {"clk": "input", "data_in": "input", "bits": "input", "data_out": None}
    assert found.top == "dut"
    assert found.parameters == ()


def test_an_output_that_a_test_clears_or_sets_itself_is_not_called_an_input() -> None:
    found = needed("""
        @cocotb.test()
        async def works(dut):
            dut.done.value = 0
            dut.done.value = 1
            assert dut.done.value == 1
    """)
    assert directions(found) == {"done": None}


def test_forced_signals_have_no_known_direction() -> None:
    found = needed("""
        from cocotb.handle import Force
        @cocotb.test()
        async def works(dut):
            dut.state.value = Force(3)
    """)
    assert directions(found) == {"state": None}


def test_helpers_libraries_and_classes_are_followed() -> None:
    found = needed(
        """
        import harness_library as lib
        from more import *

        class Bench:
            def __init__(self, dut, width=8):
                self.dut = dut
                self.clock = dut.clk
            async def push(self, value):
                self.dut.push.value = value
                await RisingEdge(self.clock)

        @cocotb.test()
        async def works(dut):
            await lib.reset(dut.rst)
            await Bench(dut).push(random.randint(0, 3))
            set_all([dut.a, dut.b])
        """,
        harness_library="""
            async def reset(signal, cycles=2):
                signal.value = 1
                signal.value = 0
        """,
        more="""
            def set_all(signals):
                for signal in signals:
                    signal.value = 0
        """,
    )
    assert directions(found) == dict.fromkeys(("rst", "clk", "push", "a", "b"), "input") | {"clk": None}


def test_functions_that_no_test_calls_ask_for_nothing() -> None:
    found = needed("""
        async def unused(dut):
            dut.other.value = 1

        @cocotb.test(skip=True)
        async def skipped(dut):
            dut.later.value = 1

        @cocotb.test()
        async def works(dut):
            dut.a.value = 1
    """)
    assert names(found) == {"a"}


def test_names_made_of_constants_are_followed() -> None:
    found = needed("""
        async def write(dut, bus, value):
            getattr(dut, f"{bus}_data").value = value

        @cocotb.test()
        async def works(dut):
            for bus in ("ex", "wb"):
                await write(dut, bus, 1)
            for lane in range(2):
                getattr(dut, "lane" + str(lane)).value = 0
            dut._id("in", extended=False).value = 3
            dut["plain"].value = 3
    """)
    assert names(found) == {"ex_data", "wb_data", "lane0", "lane1", "in", "plain"}


def test_names_that_cannot_be_known_are_left_out() -> None:
    found = needed("""
        @cocotb.test()
        async def works(dut):
            for signal in dut:
                signal.value = 0
            getattr(dut, os.environ["UNSET"]).value = 0
            dut.a.value = 0
    """)
    assert names(found) == {"a"}


def test_optional_names_are_left_out() -> None:
    found = needed("""
        def has(dut, name):
            return hasattr(dut, name)

        @cocotb.test()
        async def works(dut):
            if hasattr(dut, "debug"):
                dut.debug.value = 1
                dut.debug_too.value = 1
            if has(dut, "by_helper"):
                dut.by_helper.value = 1
            if not hasattr(dut, "early"):
                return
            dut.early.value = 1
            try:
                dut.tried.value = 1
            except AttributeError:
                pass
            width = getattr(dut, "WIDTH", 8)
            x = dut.maybe.value if hasattr(dut, "maybe") else 0
    """)
    assert names(found) == set()


def test_names_in_failure_messages_only_are_left_out() -> None:
    found = needed("""
        @cocotb.test()
        async def works(dut):
            assert dut.ok.value, f"state is {dut.state.value}"
            if dut.busy.value:
                raise AssertionError(f"{dut.why.value}")
    """)
    assert names(found) == {"ok", "busy"}


def test_names_that_a_test_insists_on_are_needed() -> None:
    found = needed("""
        @cocotb.test()
        async def works(dut):
            assert hasattr(dut, "key"), "no key"
            try:
                dut.strict.value = 1
            except AttributeError:
                raise
    """)
    assert names(found) == {"key", "strict"}


def test_of_a_path_only_the_first_name_is_asked_for() -> None:
    found = needed("""
        @cocotb.test()
        async def works(dut):
            assert dut.u_core.state.value == 1
            dut.lanes[1].u_sub.x.value = 1
    """)
    assert directions(found) == {"u_core": None, "lanes": None}


def test_a_width_is_known_where_a_test_asserts_it() -> None:
    tests = """
        def check_width(signal, bits):
            try:
                got = len(signal)
            except TypeError:
                got = 1
            assert got == bits

        @cocotb.test()
        async def works(dut):
            check_width(dut.index, 3)
            assert len(dut.data.value) == 8 and len(dut.other) == N
    """
    assert {port.name: port.width for port in needed(tests).ports} == {"index": 3, "data": 8, "other": None}


def test_an_asserted_width_counts_for_nothing_when_the_harness_sets_parameters() -> None:
    runner = RUNNER + "\n    def test_it():\n        build({'WIDTH': 8})\n"
    tests = "import cocotb\n@cocotb.test()\nasync def t(dut):\n    assert len(dut.data) == 8\n"
    assert expected_interface(harness(tests, runner)) == (
        ExpectedInterface("dut", (ExpectedPort("data"),), ("WIDTH",)),
    )


@pytest.mark.parametrize(
    "body",
    [
        "    def test_it():\n        build({'WIDTH': 8, 'DEPTH': 4})",
        "    @pytest.mark.parametrize('WIDTH', [4, 8])\n    @pytest.mark.parametrize('DEPTH', [4])\n"
        "    def test_it(WIDTH, DEPTH):\n        build(dict(WIDTH=WIDTH, DEPTH=DEPTH))",
        "    @pytest.mark.parametrize('params', [{'WIDTH': 8}, {'WIDTH': 9, 'DEPTH': 4}])\n"
        "    def test_it(params):\n        build(parameters=params)",
        "    def test_it():\n        p = {}\n        p['WIDTH'] = 8\n        p['DEPTH'] = 2\n        build(p)",
    ],
)
def test_parameters_are_the_keys_that_reach_the_build(body: str) -> None:
    (found,) = expected_interface(harness("import cocotb\n", RUNNER + "\n" + body + "\n"))
    assert set(found.parameters) == {"WIDTH", "DEPTH"}


def test_each_top_of_several_services_has_its_own_interface() -> None:
    services = tuple(
        Service(top, PYTEST, {"TOPLEVEL": top, "MODULE": f"test_{top}"}, False) for top in ("encoder", "decoder")
    )
    test = "import cocotb\n@cocotb.test()\nasync def t(dut):\n    dut.{}.value = 1\n"
    built = harness("", services=services, test_encoder=test.format("plain"), test_decoder=test.format("coded"))
    assert [(i.top, names(i)) for i in expected_interface(built)] == [("encoder", {"plain"}), ("decoder", {"coded"})]


def test_each_top_of_one_service_is_asked_for_what_its_own_tests_touch() -> None:
    runner = RUNNER.replace("def build(parameters={}):", "def build(top, module, parameters):").replace(
        'os.environ.get("MODULE")', "module"
    )
    runner += """
    @pytest.mark.parametrize("top, module, parameters", [
        (os.environ["TOPLEVEL"], os.environ["MODULE"], {}), ("part", "test_part", {"WIDTH": 6})])
    def test_it(top, module, parameters):
        build(top, module, parameters)
    """
    test = "import cocotb\n@cocotb.test()\nasync def t(dut):\n    dut.{}.value = 1\n"
    built = harness(test.format("whole"), runner, test_part=test.format("piece"))
    assert [(i.top, names(i), i.parameters) for i in expected_interface(built)] == [
        ("dut", {"whole"}, ()),
        ("part", {"piece"}, ("WIDTH",)),
    ]


def test_a_test_bench_of_the_harness_itself_is_not_asked_for() -> None:
    built = harness("import cocotb\n@cocotb.test()\nasync def t(dut):\n    dut.x.value = 1\n")
    files = {**built.files, "src/tb.sv": "module dut(input x); endmodule"}
    assert expected_interface(Harness(files, built.services, built.cocotb_version)) == ()


def test_lint_services_and_empty_harnesses_tell_nothing() -> None:
    lint = Service("lint", ("verilator", "--lint-only", "/code/rtl/x.sv"), {"TOPLEVEL": "x"}, False)
    assert expected_interface(Harness({}, (lint,), CocotbVersion.V2)) == ()
    assert expected_interface(Harness({}, (), CocotbVersion.V2)) == ()


LOOPS = "".join(f"{'    ' * (n + 1)}for i{n} in range(60):\n" for n in range(12)) + "    " * 13
LOOPS = f"import cocotb\n@cocotb.test()\nasync def t(dut):\n{LOOPS}getattr(dut, f'x{{i1}}').value = 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "def broken(:",
        "\0",
        "import test_dut\nfrom test_dut import *\n",
        "import cocotb\n@cocotb.test()\nasync def t(dut):\n    await t(dut)\n    dut.x.value = 1\n",
LOOPS,
        "x = " + "(" * 90 + "1" + ")" * 90,
        "x = " + "-" * 5000 + "1",
    ],
    ids=["syntax error", "NUL", "imports itself", "recursion", "endless loops", "brackets", "deep"],
)  # fmt: skip
def test_odd_harnesses_are_read_without_harm(text: str) -> None:
    (found,) = expected_interface(harness(text))
    assert found.top == "dut"


def test_bundled_references_have_all_that_their_harnesses_need() -> None:
    for problem in load_problems("bundled"):
        text = "".join((problem.reference or {}).values())
        interfaces = expected_interface(problem.harness)
        assert interfaces
        for found in interfaces:
            assert found.ports, problem.id
            assert all(name in text for name in (*names(found), *found.parameters)), problem.id


def test_a_method_calls_the_function_of_its_own_name_not_itself() -> None:
    found = needed("""
        def check(signal):
            assert signal.value == 1

        class Model:
            def check(self, dut):
                check(dut.rise)

        @cocotb.test()
        async def works(dut):
            Model().check(dut)
    """)
    assert names(found) == {"rise"}
