"""Names of cocotb that only one generation has. `tests/problems/test_flavour.py` holds them against both packages."""

from collections.abc import Mapping

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
HANDLE_1 = frozenset({"_range"})  # `name`, `fullname` and `log` may be signals
