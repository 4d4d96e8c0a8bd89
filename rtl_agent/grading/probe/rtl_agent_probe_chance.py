"""Whatever a harness can seed a generator from is a number of the job's seed: the same text meets the same stimulus.

Generators that are seeded from nothing, the system's entropy (and so `secrets`, `uuid` and numpy's generators), clocks,
the numbers of processes and threads, addresses of objects. Clocks, numbers and addresses are replaced for code of the
harness alone: Python, pytest and cocotb go on with the real ones. Each simulation has a seed of its own, so that what
one draws is not what the next one draws.
"""

import builtins
import datetime
import io
import os
import posix
import random
import resource
import sys
import threading
import time
import types

_WITHIN_A_DAY = 86_400
_ENTROPY, _CLOCK, _PROCESS, _HASH = range(1 << 20, (1 << 20) + 4)  # what else is derived from a seed
_CHILD = 1 << 24
_DEVICES = ("/dev/urandom", "/dev/random")
_DEVICE_BYTES = 1 << 16  # that a descriptor of such a device has to give
_FOR_OTHERS = "/multiprocessing/process.py"  # asks for the number of a process when it is asked
_HARNESS = ("/src/", "<")  # "<": what a harness had Python generate, the functions of a dataclass for one
_EPOCH = 1_700_000_000  # far from today: a seed that looks like today's date is taken for the real clock
_STEP_NS = 2_000_000  # of a clock, at most, whenever it is looked at


def derived_seed(seed, number):
    """A seed of its own for each simulation of a job, and for each time that a harness asks for a new one.

    30 bits, so that none is ever taken for the time of day. The mixing is splitmix64's: hashlib takes 3 ms to import.
    """
    mixed = (seed * 0x9E3779B97F4A7C15 + number * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & 0xFFFFFFFFFFFFFFFF
    return (mixed ^ (mixed >> 31)) & 0x3FFFFFFF


def seed_of_child(seed, number):
    """For a process that a harness starts and that is no simulator: a script that writes its vectors, say."""
    return derived_seed(seed, _CHILD + number)


_seed = None  # of this process; a warm one has none, its forks begin with their job's
_drawn = _forks = 0
_entropy = random.Random(0)


def install(seed):
    """Before any code of the harness runs."""
    replace()
    begin(seed)


def replace():
    """What no seed decides: a warm process does it before it forks."""
    _replace_generators()
    _replace_entropy(_entropy)
    _replace_clocks(_clock)
    _replace_numbers(_numbers)


def begin(seed):
    """From now on everything is drawn from this seed."""
    global _seed, _drawn, _forks
    _seed, _drawn, _forks = seed, 0, 0
    random.seed(seed)
    _entropy.seed(derived_seed(seed, _ENTROPY))
    _clock.begin(seed)
    _numbers.begin(seed)


def _replace_generators():
    """A generator that is seeded from nothing or from the clock gets the next number of this process's seed."""
    original = random.Random.seed

    def seed_again(self, a=None, version=2):
        global _drawn
        if _seed is not None and (a is None or _is_clock(a)):
            _drawn += 1
            a = derived_seed(_seed, -_drawn)
        original(self, a, version)

    def count_forks():
        global _forks
        _forks += 1

    def seed_fork():
        if _seed is not None:
            random.seed(seed_of_child(_seed, -_forks))

    random.Random.seed = seed_again
    random.seed = random._inst.seed
    # Python seeds a forked process from entropy, by the method that it had when it started.
    os.register_at_fork(before=count_forks, after_in_child=seed_fork)


def _is_clock(value):
    if not isinstance(value, (int, float)):
        return False
    return any(abs(value / scale - _now()) < _WITHIN_A_DAY for scale in (1, 1e3, 1e6, 1e9))


_now, _sleep = time.time, time.sleep


def _replace_entropy(source):
    """For everybody: nothing in a box needs secrets. `random` has a name of its own for it, and `secrets` uses that."""
    os.urandom = posix.urandom = random._urandom = source.randbytes
    os.getrandom = posix.getrandom = lambda size, flags=0: source.randbytes(size)
    _replace_devices(source)
    numbers = types.ModuleType("_uuid")  # uuid1 asks it, which looks at the real clock
    numbers.generate_time_safe = lambda: (source.randbytes(16), None)
    numbers.has_uuid_generate_time_safe = 1
    sys.modules["_uuid"] = numbers
    if "uuid" in sys.modules:
        sys.modules["uuid"]._generate_time_safe = numbers.generate_time_safe


def _replace_devices(source):
    plain_open, plain_os_open = io.open, os.open

    def open_(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *rest, **options):
        if _is_device(file) and "w" not in mode and "+" not in mode:
            if buffering == 0:
                return _Device(source)
            stream = io.BufferedReader(_Device(source), 64)
            return stream if "b" in mode else io.TextIOWrapper(stream, encoding, errors, newline)
        return plain_open(file, mode, buffering, encoding, errors, newline, *rest, **options)

    def os_open(path, flags, *rest, **options):
        if not _is_device(path):
            return plain_os_open(path, flags, *rest, **options)
        numbers = os.memfd_create("random")
        os.write(numbers, source.randbytes(_DEVICE_BYTES))
        os.lseek(numbers, 0, os.SEEK_SET)
        return numbers

    builtins.open = io.open = open_
    os.open = os_open


def _is_device(file):
    """Under any name: as text or bytes, relative, by a link."""
    if not isinstance(file, (str, bytes, os.PathLike)):
        return False
    name = os.fsdecode(file)
    return name in _DEVICES or ("random" in os.path.basename(name) and os.path.realpath(name) in _DEVICES)


class _Device(io.RawIOBase):
    """Random bytes without end, as a file."""

    def __init__(self, source):
        self._source = source

    def readable(self):
        return True

    def readinto(self, buffer):
        buffer[:] = self._source.randbytes(len(buffer))
        return len(buffer)


class _Clock:
    """Goes on by a small random step whenever it is looked at, and by what the harness sleeps."""

    def __init__(self):
        self._steps = random.Random(0)
        self._ns = 0

    def begin(self, seed):
        self._steps.seed(derived_seed(seed, _CLOCK))
        self._ns = self._steps.randrange(10**16)

    def ns(self):
        self._ns += self._steps.randrange(1, _STEP_NS)
        return self._ns

    def since_start(self):
        return self.ns() / 1e9

    def time_ns(self):
        return _EPOCH * 10**9 + self.ns()

    def time(self):
        return self.time_ns() / 1e9

    def sleep(self, seconds):
        self._ns += int(seconds * 1e9)
        _sleep(seconds)


_clock = _Clock()


def _replace_clocks(clock):
    for name in ("time", "time_ns", "sleep"):
        _for_harness(time, name, getattr(clock, name))
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        _for_harness(time, name, clock.since_start)
        _for_harness(time, f"{name}_ns", clock.ns)
    for name in ("localtime", "gmtime", "ctime"):
        _for_harness(time, name, _at_the_clock(getattr(time, name), clock))
    real = time.strftime
    _for_harness(time, "strftime", lambda form, when=None: real(form, when or time.gmtime(clock.time())))
    _for_harness(time, "clock_gettime", lambda number: clock.since_start())
    _for_harness(time, "clock_gettime_ns", lambda number: clock.ns())
    _for_harness(os, "times", lambda: os.times_result([clock.since_start()] * 5))
    _for_harness(resource, "getrusage", lambda who: resource.struct_rusage([clock.since_start()] * 2 + [0] * 14))
    datetime.datetime, datetime.date = _datetime(clock), _date(clock)


def _at_the_clock(convert, clock):
    return lambda seconds=None: convert(clock.time() if seconds is None else seconds)


class _LikeItsParent(type):
    """Dates that were made by those who have the real class are dates as well."""

    def __instancecheck__(cls, value):
        return isinstance(value, cls.__base__)

    def __subclasscheck__(cls, other):
        return issubclass(other, cls.__base__)


def _datetime(clock):
    class harness_datetime(datetime.datetime, metaclass=_LikeItsParent):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(clock.time(), tz) if _asked_by_harness() else super().now(tz)

        @classmethod
        def utcnow(cls):
            now = cls.fromtimestamp(clock.time(), datetime.UTC) if _asked_by_harness() else None
            return super().utcnow() if now is None else now.replace(tzinfo=None)

        @classmethod
        def today(cls):
            return cls.fromtimestamp(clock.time()) if _asked_by_harness() else super().today()

    harness_datetime.__name__ = harness_datetime.__qualname__ = "datetime"
    return harness_datetime


def _date(clock):
    class harness_date(datetime.date, metaclass=_LikeItsParent):
        @classmethod
        def today(cls):
            return cls.fromtimestamp(clock.time()) if _asked_by_harness() else super().today()

    harness_date.__name__ = harness_date.__qualname__ = "date"
    return harness_date


class _Numbers:
    """Of processes, threads and objects."""

    def __init__(self):
        self.process = self._other = 0
        self._objects, self._threads = {}, {}
        self._address, self._hashed = id, hash

    def begin(self, seed):
        self.process = 300 + derived_seed(seed, _PROCESS) % 30_000
        # PYTHONHASHSEED is the same for all; a hash that a harness seeds from differs as it would without it.
        self._other = derived_seed(seed, _HASH) << 30 | derived_seed(seed, -_HASH)

    def of_object(self, thing):
        number = 0x7F0000000000 + 48 * (len(self._objects) + self.process)
        return self._objects.setdefault(self._address(thing), number)

    def hash_of(self, thing):
        if type(thing).__hash__ is object.__hash__:
            return self.of_object(thing) >> 4
        return self._hashed(thing) ^ self._other if _hash_varies(thing) else self._hashed(thing)

    def of_thread(self, real):
        """A property in place of another one: `ident` and `native_id` are numbers of one row."""

        def number(thread):
            own = self._threads.setdefault(self._address(thread), self.process + len(self._threads))
            return own if _asked_by_harness() else real.fget(thread)

        return property(number)


_numbers = _Numbers()


def _replace_numbers(numbers):
    for module, name in ((os, "getpid"), (os, "getpgrp"), (threading, "get_ident"), (threading, "get_native_id")):
        _for_harness(module, name, lambda: numbers.process)
    _for_harness(os, "getppid", lambda: numbers.process - 1)
    for name in ("getsid", "getpgid"):
        _for_harness(os, name, _own_or(getattr(os, name), numbers))
    if "timeit" in sys.modules:  # imported before, it would keep the real clock
        sys.modules["timeit"].default_timer = time.perf_counter
    _for_harness(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    for name in ("ident", "native_id"):
        setattr(threading.Thread, name, numbers.of_thread(getattr(threading.Thread, name)))
    _for_harness(builtins, "id", numbers.of_object)
    _for_harness(builtins, "hash", numbers.hash_of)


def _own_or(real, numbers):
    """Of the process itself by its number, or by 0; of another one what is true."""
    return lambda process: numbers.process if process in (0, numbers.process) else real(process)


def _hash_varies(thing):
    """Of strings, and of what is made of them, Python's hash is another one in each process."""
    return isinstance(thing, str | bytes) or (isinstance(thing, tuple | frozenset) and any(map(_hash_varies, thing)))


def _asked_by_harness(above=2):
    asking = sys._getframe(above)
    if asking.f_code.co_filename.endswith(_FOR_OTHERS) and asking.f_back is not None:
        asking = asking.f_back
    return asking.f_code.co_filename.startswith(_HARNESS)


def _for_harness(module, name, answer):
    """Another answer for code of the harness; the real one for everybody else."""
    real = getattr(module, name)

    def asked(*args, **options):
        return (answer if _asked_by_harness() else real)(*args, **options)

    asked.__name__ = asked.__qualname__ = name
    setattr(module, name, asked)
