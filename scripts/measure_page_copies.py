"""What copying pages costs a forked Python: by faults as it touches them, or all in one call (MADV_POPULATE_WRITE).

    .venv/share/rtl-agent/cocotb-2.0.1/bin/python3 -W ignore scripts/measure_page_copies.py

Prints CPU and page faults for each fork of a process that has pytest imported, as a warm harness has.
"""

import ast
import ctypes
import gc
import importlib
import inspect
import json
import os
import resource
import sys
from pathlib import Path

MADV_POPULATE_WRITE = 23
FORKS = 40
MODULES = ("pytest", "_pytest.assertion.rewrite", "asyncio", "logging", "xml.etree.ElementTree", "cocotb_tools.runner")
PAGE = resource.getpagesize()
SOURCE = "def f(x):\n" + "".join(f"  y{at} = x + {at}\n" for at in range(60)) + "  return x\n"


def private_ranges() -> list[tuple[int, int, str]]:
    """Writable memory of the process: start, end, and the library that it belongs to."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, mode, _, _, _, *name = line.split(maxsplit=5)
        start, end = (int(part, 16) for part in place.split("-"))
        library = name[0].strip() if name else ""
        if "w" in mode and "p" in mode and (library in ("", "[heap]") or ".so" in library):
            found.append((start, end, library))
    return found


def work() -> None:
    """A little of everything that a harness does."""
    for _ in range(4):
        names: dict[str, object] = {}
        exec(compile(SOURCE, "x", "exec"), names)
    ast.dump(ast.parse(SOURCE))
    json.loads(json.dumps({"a": [1, 2, 3] * 100}))
    inspect.signature(work)
    _ = {str(at): object() for at in range(3000)}
    for module in list(sys.modules.values())[:250]:
        getattr(module, "__doc__", None)


def main() -> None:
    for module in MODULES:
        importlib.import_module(module)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    gc.collect()
    gc.freeze()
    libc.malloc_trim(0)
    ranges = private_ranges()
    ways = {
        "by faults": [],
        "all in one call": ranges,
        "libraries in one call": [one for one in ranges if ".so" in one[2]],
    }
    print(f"{sum(end - start for start, end, _ in ranges) // PAGE:,} writable pages")
    for way, populated in [*ways.items()] * 2:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(FORKS):
            child = os.fork()
            if child == 0:
                for start, end, _ in populated:
                    libc.madvise(start, end - start, MADV_POPULATE_WRITE)
                work()
                os._exit(0)
            os.waitpid(child, 0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        user, system = (
            (b - a) / FORKS * 1e3 for a, b in ((before.ru_utime, after.ru_utime), (before.ru_stime, after.ru_stime))
        )
        faults = (after.ru_minflt - before.ru_minflt) / FORKS
        print(f"{way:22} user {user:.2f} ms, system {system:.2f} ms, {faults:,.0f} faults")


if __name__ == "__main__":
    main()
