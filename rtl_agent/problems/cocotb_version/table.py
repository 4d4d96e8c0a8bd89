"""What tells cocotb 1.9 harnesses from 2.x ones: a row for each sign, with what both make of it and what it weighs.

Both columns were seen in simulations with 1.9.2 and 2.0.1; `tests/problems/test_cocotb_version_table.py` repeats them
for every sign that decides, and compares the names below with both packages. `scripts/cocotb_versions.py` writes the
rows into docs/cocotb-versions.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from rtl_agent.problems.problem import CocotbVersion

ONE, TWO = CocotbVersion.V1, CocotbVersion.V2


class Weight(IntEnum):
    """How bad the other generation is for such a harness."""

    NONE = 0  # written down, but the text does not say which one was meant
    HINT = 1  # runs in both, by an alias or as a deprecated name; says which one its author had
    SOME = 2  # fails or means something else in the other generation, for some signals only
    ALL = 3  # cannot work in the other generation, whatever the signal


@dataclass(frozen=True)
class Sign:
    """One difference between the generations that can be read off a harness's text."""

    name: str
    what: str
    in_1: str
    in_2: str
    favours: CocotbVersion | None
    weight: Weight
    reason: str


# fmt: off
TABLE: tuple[Sign, ...] = (
    Sign(
        "descending-slice", "`dut.x.value[7:4]`", "IndexError", "the bits 7 to 4", TWO, Weight.ALL,
        "bounds as in Verilog; 1.9 numbers from the left and takes them in rising order only",
    ),
    Sign(
        "ascending-slice", "`dut.x.value[0:3]`", "the four leftmost bits", "IndexError", ONE, Weight.ALL,
        "2.x numbers every value downwards to 0, one declared `[0:7]` too; of an unpacked array 1.9 gives a Python"
        " list, whose end does not count, 2.x one element more",
    ),
    Sign(
        "open-slice", "`dut.x.value[4:]`, `dut.x.value[:4]`", "TypeError; of an unpacked array a part of a list",
        "the bits down from 4, or down to 4", TWO, Weight.SOME,
        "no 1.9 harness can do it to a vector; to an unpacked array it can",
    ),
    Sign(
        "step-slice", "`dut.x.value[::-1]`", "TypeError; of an unpacked array the reversed list", "IndexError",
        ONE, Weight.SOME, "2.x takes a step from nothing, 1.9 from lists",
    ),
    Sign(
        "negative-index", "`dut.x.value[-1]`", "the rightmost bit", "IndexError", ONE, Weight.ALL,
        "2.x knows the indices of the range only",
    ),
    Sign(
        "index", "`dut.x.value[i]`", "bit i from the left", "bit i from the right", None, Weight.NONE,
        "both run; which one was meant depends on what it is compared with",
    ),
    Sign(
        "arithmetic", "`dut.x.value + 1`, `1 << dut.x.value`, `-dut.x.value`, `abs(dut.x.value)`", "an int",
        "TypeError", ONE, Weight.ALL,
        "values of 2.x have no arithmetic and no shifts; `integer` and `real` variables have it in both, and are rare",
    ),
    Sign(
        "bits-with-int", "`dut.x.value & 0xF`", "an int", "TypeError", ONE, Weight.ALL,
        "in 2.x `&`, `|` and `^` take another value of the same length",
    ),
    Sign(
        "bits", "`dut.x.value & dut.y.value`", "an int", "a value, bit by bit, X included", None, Weight.NONE,
        "both compare equal to the same int",
    ),
    Sign(
        "inverted", "`~dut.x.value`", "a str of bits", "a value", None, Weight.NONE,
        "what is done with it is found by other signs",
    ),
    Sign(
        "inverted-number", "`~dut.x.value == 0x5A`, `~dut.x.value & 0xF`", "a str, which equals no int; TypeError",
        "a value", TWO, Weight.ALL, "`~` of 1.9 gives the bits as text",
    ),
    Sign(
        "order", "`dut.x.value > 3`", "TypeError", "TypeError", None, Weight.NONE,
        "`<=` is an assignment in 1.9 and gives None, which fails an assertion as well",
    ),
    Sign(
        "handle-compared", "`dut.x == 1`", "compares the value", "always False", ONE, Weight.ALL,
        "in 2.x two handles are compared, and an int is not a handle",
    ),
    Sign(
        "handle-assigned", "`dut.x = 1`, `dut.x <= 1`, `dut.mem[0] = 1`", "writes the value",
        "AttributeError, TypeError", ONE, Weight.ALL, "2.x writes by `.value` only",
    ),
    Sign(
        "bit-handle", "`dut.x[0].value` of a vector", "the bit 0, as declared", "TypeError", ONE, Weight.ALL,
        "of an unpacked array both give the element; counted where the harness takes the same signal for a number"
        " elsewhere, which no array is",
    ),
    Sign(
        "handle-attributes", "`dut.x._range`, `dut.x.drivers()`, `dut.log.info()`", "there", "AttributeError", ONE,
        Weight.ALL, "`range` and `_log` in 2.x",
    ),
    Sign(
        "only-2-handle-attributes", "`dut.x.range.left`, `await dut.clk.rising_edge`, `dut.x.set(1)`, `dut.x.get()`",
        "AttributeError", "there", TWO, Weight.ALL, "new in 2.x",
    ),
    Sign(
        "only-1-task-attributes", "`task.retval`, `task.has_started()`, `clock.frequency`", "there", "AttributeError",
        ONE, Weight.ALL, "gone in 2.x",
    ),
    Sign(
        "only-2-task-attributes", "`task.complete`, `task.get_name()`", "AttributeError", "there", TWO, Weight.ALL,
        "new in 2.x",
    ),
    Sign(
        "written-text", "`dut.x.value = \"1010\"`", "TypeError", "writes the bits", TWO, Weight.ALL,
        "1.9 takes a `BinaryValue` for that; a `string` variable takes bytes in both",
    ),
    Sign(
        "written-tuple", "`dut.mem.value = (1, 2)`", "TypeError", "writes the elements", TWO, Weight.ALL,
        "1.9 takes lists only",
    ),
    Sign(
        "written-number", "`dut.x.value = -1`, too large a number", "-1 sets all bits; OverflowError",
        "the same, but ValueError, and for one bit -1 too", None, Weight.NONE,
        "how wide a signal is cannot be read off a harness",
    ),
    Sign(
        "only-2-conversions", "`.to_unsigned()`, `.to_signed()`, `.resolve()`, `.to_bytes()` of a value,"
        " `LogicArray.from_unsigned()`", "AttributeError", "there", TWO, Weight.ALL, "new in 2.x",
    ),
    Sign(
        "logic-types", "`LogicArray`, `Logic` of `cocotb.types`", "there, but no signal's value: an array has"
        " no `int()`, a bit equals no int", "what a signal's value is", TWO, Weight.SOME,
        "hardly anything works in 1.9 but making one and writing it",
    ),
    Sign(
        "only-1-attributes", "`.n_bits`, `.value.value`, `.hex()`, `.get_value()`, `.get_binstr()` of a value", "there",
        "AttributeError", ONE, Weight.ALL, "gone in 2.x",
    ),
    Sign(
        "old-attributes", "`.integer`, `.signed_integer`, `.binstr`, `.buff`", "there",
        "deprecated for vectors; AttributeError for one bit", ONE, Weight.SOME,
        "a 1-bit value is a `Logic` in 2.x; the probe gives it `.integer`, `.signed_integer` and `.binstr`, so that"
        " a harness that must have 2.x for another reason runs there",
    ),
    Sign(
        "lower-case-x", "`'x' in str(dut.x.value)`", "true of an unknown value", "never true: it says `X`", ONE,
        Weight.SOME, "no error, but a check that never finds anything",
    ),
    Sign(
        "upper-case-x", "`'X' in str(dut.x.value)`", "never true: it says `x`", "true of an unknown value", TWO,
        Weight.SOME, "the same the other way round",
    ),
    Sign(
        "truth", "`if dut.x.value:`, `not dut.x.value` of an unknown value", "false", "ValueError", None, Weight.NONE,
        "whether a value is known when it is asked for depends on the design",
    ),
    Sign(
        "equality", "`dut.x.value == 5`, `== \"101\"`, `in (0, 1)`, `int()`, `bool()`, `len()`, `str()`, `hash()`,"
        " iteration of vectors", "the same", "the same", None, Weight.NONE,
        "an unknown value equals no int in both; `int()` of it is a ValueError in both; both iterate from the left",
    ),
    Sign(
        "text-with-case", "`dut.x.value == 'x'`", "by case", "in any case", None, Weight.NONE,
        "1.9 says `x`: only a comparison with `'X'` differs, which `upper-case-x` counts",
    ),
    Sign(
        "unit", "`Clock(..., unit=)`, `Timer(1, unit=)`, `get_sim_time(unit=)`", "TypeError", "there", TWO, Weight.ALL,
        "renamed from `units`, which 2.x still takes",
    ),
    Sign(
        "clock-options", "`Clock(..., impl=)`, `set_action=`, `period_high=`", "TypeError", "there", TWO, Weight.ALL,
        "new in 2.x",
    ),
    Sign(
        "clock-started", "`Clock(...).start()` as a statement, `clock.stop()`", "nothing happens, no clock runs;"
        " AttributeError", "starts the clock", TWO, Weight.ALL, "`start` of 1.9 makes a coroutine, for `start_soon`",
    ),
    Sign("clock-cycles", "`Clock(...).start(cycles=)`", "there", "TypeError", ONE, Weight.ALL, "gone in 2.x"),
    Sign(
        "timer-zero", "`Timer(0)`", "waits for nothing", "ValueError", ONE, Weight.ALL, "refused in 2.x",
    ),
    Sign(
        "only-2-names", "names that only 2.0.1 has: `cocotb.parametrize`, `cocotb.pass_test`, `ValueChange`,"
        " `cocotb.simtime`, `Immediate`, `LogicArrayObject`, ...", "ImportError, AttributeError", "there", TWO,
        Weight.ALL, "new in 2.x",
    ),
    Sign(
        "only-1-names", "names that only 1.9.2 has: `cocotb.binary`, `TestFailure`, `@cocotb.coroutine`, `cocotb.fork`,"
        " `ModifiableObject`, ...", "there", "ImportError, AttributeError", ONE, Weight.ALL, "gone in 2.x",
    ),
    Sign(
        "define-without-value", "`build(defines={\"X\": None})`", "defines it", "TypeError", ONE, Weight.ALL,
        "2.x wants a value",
    ),
    Sign(
        "define-with-text", "`build(defines={\"X\": \"8\"})`", "defines it as 8", "defines it as a string", ONE,
        Weight.SOME, "2.x puts a text in quotes; that makes a difference where the macro is used",
    ),
    Sign(
        "units", "`Clock(..., units=)`, `Timer(1, units=)`", "there", "deprecated, works", None, Weight.NONE,
        "most harnesses that run on 2.x still say it",
    ),
    Sign(
        "timing", "a write at the same moment as an edge of `Clock`", "the clock is a task like others",
        "the clock is inside the simulator's interface", None, Weight.NONE,
        "not to be read off the text: it stays with the generation that the other signs and the runner name",
    ),
    Sign(
        "runner-1", "`cocotb.runner`", "there", "an alias of ours", ONE, Weight.HINT, "its author had 1.x",
    ),
    Sign(
        "runner-2", "`cocotb_tools.runner`", "an alias of ours", "there", TWO, Weight.HINT,
        "its author had 2.x; with both runners this one counts, since 1.x has no such module",
    ),
)
# fmt: on
BY_NAME = {sign.name: sign for sign in TABLE}


# Modules; the runner is left out, each generation has the other's by an alias.
MODULES_1 = frozenset(
    f"cocotb.{name}"
    for name in (
        "ANSI", "binary", "config", "decorators", "ipython_support", "log", "memdebug", "outcomes", "scheduler",
        "wavedrom", "xunit_reporter",
    )
)  # fmt: skip
MODULES_2 = frozenset(
    {"cocotb.debug", "cocotb.logging", "cocotb.simtime", "cocotb_tools.config", "cocotb_tools.check_results"}
)

# Public names of modules that both have.
NAMES_1: Mapping[str, frozenset[str]] = {
    "cocotb": frozenset(
        {
            "LANGUAGE", "argc", "binary", "coroutine", "decorators", "external", "fork", "function", "outcomes",
            "regression_manager", "scheduler",
        }
    ),
    "cocotb.clock": frozenset({"BaseClock"}),
    "cocotb.handle": frozenset(
        {
            "BinaryRepresentation", "BinaryValue", "ConstantObject", "ModifiableObject", "NonConstantObject",
            "NonHierarchyIndexableObject", "NonHierarchyObject", "RegionObject", "SimHandle",
        }
    ),
    "cocotb.result": frozenset(
        {"ExternalException", "ReturnValue", "TestComplete", "TestError", "TestFailure", "create_error", "raise_error"}
    ),
    "cocotb.triggers": frozenset({"PythonTrigger", "TriggerException"}),
    "cocotb.types": frozenset({"concat"}),
    "cocotb.utils": frozenset(
        {"ParametrizedSingleton", "hexdiffs", "hexdump", "lazy_property", "pack", "reject_remaining_kwargs", "unpack"}
    ),
}  # fmt: skip
NAMES_2: Mapping[str, frozenset[str]] = {
    "cocotb": frozenset({"is_simulation", "parametrize", "pass_test"}),
    "cocotb.handle": frozenset(
        {"ArrayObject", "GPIDiscovery", "Immediate", "LogicArrayObject", "LogicObject", "ValueObjectBase"}
    ),
    "cocotb.queue": frozenset({"AbstractQueue"}),
    "cocotb.task": frozenset({"TaskComplete", "bridge", "current_task", "resume"}),
    "cocotb.triggers": frozenset({"SimTimeoutError", "ValueChange", "current_gpi_trigger"}),
    "cocotb.types": frozenset({"AbstractArray", "AbstractMutableArray", "IndexingChangedWarning"}),
}

# Attributes of a value, whatever its width.
VALUE_1 = frozenset(
    {"assign", "big_endian", "binaryRepresentation", "get_binstr", "get_buff", "get_value", "get_value_signed", "hex",
     "n_bits", "set_binstr", "set_buff", "set_value", "value"}
)  # fmt: skip
VALUE_2 = frozenset({"to_unsigned", "to_signed", "resolve"})
VALUE_OLD = frozenset({"integer", "signed_integer", "binstr", "buff"})  # of vectors only in 2.x
LOGIC_ARRAY_2 = frozenset({"from_unsigned", "from_signed"})
HANDLE_1 = frozenset(
    {"_range", "drivers", "loads", "get_definition_name", "get_definition_file"}
)  # others may be signals
TASK_1, TASK_2 = frozenset({"retval", "has_started"}), frozenset({"complete", "get_name", "set_name", "locals"})
CLOCK_1 = frozenset({"frequency"})
LOGIC_TYPES = frozenset({("cocotb.types", "LogicArray"), ("cocotb.types", "Logic")})
# What `import *` hands out in 1.9 only, of names that can be imported one by one in both.
STARRED_1: Mapping[str, frozenset[str]] = {
    "cocotb.triggers": frozenset({"Join", "Task", "Decimal", "SimLog"}),
    "cocotb.handle": frozenset({"Logic", "LogicArray"}),
}
