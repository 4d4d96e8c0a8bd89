"""What harnesses between the generations use of cocotb 1.9, given to 2.0.1 where it has nothing of that name.

Only where 2.0.1 raises: nothing that it compares, reads or writes changes. Comparisons of handles (`dut.x == 1`), bits
of handles (`dut.x[0]`) and rising slices stay as 2.0.1 has them. docs/cocotb-versions.md has the reasons.
"""

import operator
import sys
import types

_ARITHMETIC = ("add", "sub", "mul", "floordiv", "mod", "pow", "lshift", "rshift")
_BITS = ("and", "or", "xor")


_given = False


def give():
    """Before a harness is imported, after cocotb is; once is enough."""
    global _given
    if _given:
        return
    _given = True
    import cocotb
    import cocotb.result
    from cocotb.types import Logic, LogicArray

    _one_bit(Logic)
    for value in (Logic, LogicArray):
        _numbers(value, (int, Logic, LogicArray))
    _missing(LogicArray, n_bits=property(len))
    # In 1.9 `fork` ran a task up to its first wait at once; 2.0.1 has nothing that does this without `await`.
    _missing(cocotb, fork=cocotb.start_soon, coroutine=lambda function: function)
    _results(cocotb.result)
    sys.modules.setdefault("cocotb.binary", _binary())


def _missing(owner, **things):
    for name, thing in things.items():
        if not hasattr(owner, name):
            setattr(owner, name, thing)


def _one_bit(logic):
    """While 2.0 was made a 1-bit value was an array of one, and harnesses of that time call these on any signal."""
    _missing(
        logic,
        to_unsigned=lambda self: int(self),
        to_signed=lambda self: -int(self),
        integer=property(int),
        signed_integer=property(lambda self: -int(self)),
        binstr=property(str),
        n_bits=property(len),
    )


def _numbers(value, numbers):
    """`dut.x.value + 1` is a TypeError in 2.0.1, and an int in 1.9. Of an unknown value it is a ValueError in both."""
    for name in _ARITHMETIC:
        operate = getattr(operator, name)
        _missing(value, **{f"__{name}__": _with_number(operate, numbers), f"__r{name}__": _reflected(operate, numbers)})
    for name in _BITS:
        method, operate = f"__{name}__", getattr(operator, f"__{name}__")
        setattr(value, method, _bits_with_int(getattr(value, method), operate))
        _missing(value, **{f"__r{name}__": _reflected(operate, (int,))})
    _missing(value, __neg__=lambda self: -int(self), __abs__=lambda self: int(self))


def _with_number(operate, numbers):
    return lambda self, other: operate(int(self), int(other)) if isinstance(other, numbers) else NotImplemented


def _reflected(operate, numbers):
    return lambda self, other: operate(int(other), int(self)) if isinstance(other, numbers) else NotImplemented


def _bits_with_int(own, operate):
    def method(self, other):
        result = own(self, other)
        if result is NotImplemented and isinstance(other, int):
            return operate(int(self), other)
        return result

    return method


def _results(module):
    """To raise them ends a test as a failure, in 2.0.1 as any exception does."""
    complete = type("TestComplete", (Exception,), {})
    _missing(
        module,
        TestComplete=complete,
        TestFailure=type("TestFailure", (complete, AssertionError), {}),
        TestError=type("TestError", (complete, RuntimeError), {}),
    )


def _binary():
    """Imported more often than used: a `BinaryValue` cannot be made, so nothing is one."""
    module = types.ModuleType("cocotb.binary")

    class BinaryValue:
        def __init__(self, *args, **options):
            raise TypeError("cocotb 2.0.1 has no BinaryValue")

    module.BinaryValue = BinaryValue
    names = {"UNSIGNED": 0, "SIGNED_MAGNITUDE": 1, "TWOS_COMPLEMENT": 2}
    module.BinaryRepresentation = type("BinaryRepresentation", (), names)
    return module
