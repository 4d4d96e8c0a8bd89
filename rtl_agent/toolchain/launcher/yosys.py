"""Runs Yosys as if it were an ordinary program: it is WebAssembly, compiled for this machine when it was installed.

It lies beside the packages that it needs. PyPI's own runner compiles on the first start (18 s of CPU), then takes
170 ms of CPU to start, and keeps a cache in a home directory; this one takes 50 ms and writes nothing.

    python yosys.py --compile FILE.wasm    once, at installation
    python yosys.py ARGUMENTS              as `yosys ARGUMENTS`
"""

import ctypes
import os
import platform
import sys

HOME = os.path.dirname(os.path.abspath(__file__))
COMPILED = os.path.join(HOME, "yosys.cwasm")
sys.path.insert(0, os.path.join(HOME, "packages"))

import wasmtime  # noqa: E402
from wasmtime import _ffi  # noqa: E402


def settings():
    """Memory that grows by moving: the usual reservation of 4 GiB is more than a box may have."""
    config = wasmtime.Config()
    # The package has no properties for these yet.
    _ffi.wasmtime_config_memory_reservation_set(config.ptr(), 0)
    _ffi.wasmtime_config_memory_guard_size_set(config.ptr(), 0)
    _ffi.wasmtime_config_memory_reservation_for_growth_set(config.ptr(), 256 << 20)
    _ffi.wasmtime_config_memory_may_move_set(config.ptr(), True)
    return config


def compile_module(file):
    """For any processor of this architecture: a tool root may be shared by machines that differ."""
    config = settings()
    target = f"{platform.machine()}-unknown-linux-gnu"
    if error := _ffi.wasmtime_config_target_set(config.ptr(), ctypes.create_string_buffer(target.encode())):
        raise wasmtime.WasmtimeError._from_ptr(error)
    with open(file, "rb") as source, open(COMPILED, "wb") as out:
        out.write(wasmtime.Module(wasmtime.Engine(config), source.read()).serialize())


def run(arguments):
    """Its exit code."""
    engine = wasmtime.Engine(settings())
    module = wasmtime.Module.deserialize_file(engine, COMPILED)
    wasi = wasmtime.WasiConfig()
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    wasi.argv = ["yosys", *arguments]
    for inside, outside in directories():
        try:
            wasi.preopen_dir(outside, inside)
        except wasmtime.WasmtimeError:  # may not be read: neither could an ordinary program
            continue
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)
    try:
        linker.instantiate(store, module).exports(store)["_start"](store)
    except wasmtime.ExitTrap as left:
        return left.code
    except wasmtime.Trap as trap:
        sys.stderr.write(f"yosys: {str(trap).splitlines()[0]}\n")
        return 134  # as a program that aborts
    return 0


def directories():
    """Everything below /, and what relative names reach: WebAssembly sees the directories that it is given."""
    for entry in os.scandir("/"):
        if entry.is_dir():
            yield entry.path, entry.path
    for level in range(len(os.getcwd().strip("/").split("/")) + 1):
        upwards = "/".join([".."] * level) or "."
        yield upwards, upwards
    yield "/share", os.path.join(HOME, "share")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compile"]:
        compile_module(sys.argv[2])
    else:
        sys.exit(run(sys.argv[1:]))
