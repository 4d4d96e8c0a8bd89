"""Reading and checking signals, with messages that say what was expected and what was seen."""


def name_of(signal):
    return signal._path.split(".")[-1]


def read(signal):
    """The value as an unsigned integer; bits that are X or Z are a failure, not a zero."""
    value = signal.value
    try:
        return int(value)
    except ValueError:
        raise AssertionError(f"{name_of(signal)} has unknown bits: {value}") from None


def check(signal, expected, when):
    got = read(signal)
    assert got == expected, f"{when}: {name_of(signal)} expected {expected:#x}, got {got:#x}"


def check_width(signal, bits):
    try:
        got = len(signal)
    except TypeError:  # a scalar has no length
        got = 1
    assert got == bits, f"{name_of(signal)} expected to be {bits} bits wide, got {got}"
