"""Reading, writing and comparing signals in cocotb 2.0.1 with fewer calls.

A clock cycle of a usual test bench writes three signals and reads three; each went through ten to fifteen calls of
Python. What is not the ordinary case (numbers of another type, X and Z, wide writes) goes to the original. Installed by
rtl_agent_warm_scheduler.py.
"""


def quicken(schedule_write):
    _quicken_hierarchy()
    _quicken_writes(schedule_write)
    _quicken_reads()
    _quicken_arrays()


def _quicken_hierarchy():
    """`dut.clk`: a child that was found once is an attribute, and `__getattr__` is not asked again.

    Until all children are looked for, by `len(dut)` or in a loop: cocotb makes new objects of them then.
    """
    from cocotb import handle

    scope = handle.HierarchyObject
    original_child, original_discover = scope.__getattr__, scope._discover_all

    def child(self, name):
        found = original_child(self, name)
        if not name.startswith("_"):
            self.__dict__[name] = found
        return found

    def discover_all(self):
        if not self._discovered:
            original_discover(self)
            for name in self._sub_handles:
                if not name.startswith("_"):
                    self.__dict__.pop(name, None)

    scope.__getattr__, scope._discover_all = child, discover_all


def _quicken_writes(schedule_write):
    from cocotb import _gpi_triggers, handle

    deposit, deposited = handle._GPISetAction.DEPOSIT, handle.Deposit
    read_only = _gpi_triggers.ReadOnly
    base, bit, array = handle.ValueObjectBase, handle.LogicObject, handle.LogicArrayObject
    original_set, original_set_bit, original_set_array = base.set, bit._set_value, array._set_value
    most_bits = 32  # cocotb writes wider values as text

    def set_value(self, value):
        kind = type(value)
        if (kind is not int and kind is not deposited) or self.is_const:
            original_set(self, value)
        elif isinstance(_gpi_triggers._current_gpi_trigger, read_only):
            original_set(self, value)  # which raises
        else:
            self._set_value(value if kind is int else value.value, deposit)

    def set_bit(self, value, action):
        if type(value) is int and 0 <= value <= 1:
            schedule_write(self, self._handle.set_signal_val_binstr, action, "1" if value else "0")
        else:
            original_set_bit(self, value, action)

    def set_array(self, value, action):
        if type(value) is int:
            bits = len(self)
            if bits <= most_bits and -(1 << bits - 1) <= value < 1 << bits:
                schedule_write(self, self._handle.set_signal_val_int, action, value)
                return
        original_set_array(self, value, action)

    base.set = bit.set = array.set = set_value
    bit._set_value, array._set_value = set_bit, set_array


def _quicken_reads():
    from cocotb import handle
    from cocotb.types import Logic, LogicArray, Range

    bit, array = handle.LogicObject, handle.LogicArrayObject
    new = LogicArray.__new__
    bits = {text: Logic(text) for text in "01XZ"}  # there is one object for each value anyway
    ranges = {}  # width -> its range, which cannot be changed

    def get_bit(self):
        text = self._handle.get_signal_val_binstr()
        found = bits.get(text)
        return Logic(text) if found is None else found

    def get_array(self):
        text = self._handle.get_signal_val_binstr()
        width = len(text)
        found = ranges.get(width)
        if found is None:
            found = ranges[width] = Range(width - 1, "downto", 0)
        value = new(LogicArray)
        value._value_as_array = value._value_as_int = None
        value._value_as_str = text
        value._range = found
        value._warn_indexing = False
        return value

    bit.get, array.get = get_bit, get_array
    bit.value, array.value = property(get_bit, bit.set), property(get_array, array.set)


def _quicken_arrays():
    """Numbers of what was read: its text is kept, and asked first."""
    from cocotb.types import LogicArray

    original_unsigned, original_equal = LogicArray.to_unsigned, LogicArray.__eq__
    original_len, original_resolvable = LogicArray.__len__, LogicArray.is_resolvable.fget

    def to_unsigned(self):
        value = self._value_as_int
        if value is None:
            try:
                value = self._value_as_int = int(self._value_as_str, 2)
            except (TypeError, ValueError):  # not kept as text, or not all 0 and 1
                return original_unsigned(self)
        return value

    def equal(self, other):
        if type(other) is int:
            try:
                return to_unsigned(self) == other
            except ValueError:
                return False
        return original_equal(self, other)

    def length(self):
        text = self._value_as_str
        return original_len(self) if text is None else len(text)

    def is_resolvable(self):
        text = self._value_as_str
        return original_resolvable(self) if text is None else not text.strip("01LH")

    LogicArray.to_unsigned = LogicArray.__int__ = LogicArray.__index__ = to_unsigned
    LogicArray.__eq__, LogicArray.__len__ = equal, length
    LogicArray.is_resolvable = property(is_resolvable)
