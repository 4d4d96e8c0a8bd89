"""Waves: each simulation gets an open file to write them to, and the module that does it (toolchain/vpi/dump.c).

The files are opened before there is a design, and nobody can open them by name afterwards: their directory has no
permissions. A design that names the directory, or calls $dumpfile and its kin, reaches none of them.
"""

import os

PLACE = "RTL_AGENT_DUMP"  # set: the directory of the files
MODULES = "RTL_AGENT_DUMP_MODULE"  # where the simulator finds the module
FILE = "RTL_AGENT_DUMP_FD"
_MOST = 64  # simulations of a service; what a harness starts after them has no waves

_files = {}  # number of a simulation -> descriptor


def open_files():
    """For the simulations to come. The number is the one that the probe reports."""
    place = os.environ.get(PLACE)
    if not place or os.environ.get("RTL_AGENT_COLLECT"):
        return
    os.chmod(place, 0o700)
    for number in range(1, _MOST + 1):
        path = os.path.join(place, f"{number}.vcd")
        _files[number] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.chmod(place, 0)


def hand_over(number, env):
    """The descriptors that this simulation is to inherit; its environment names them."""
    if number not in _files:
        env.pop(FILE, None)
        return ()
    env[FILE] = str(_files[number])
    return (_files[number],)


def with_module(args, env):
    """The simulator's command with the module, if it has a file to write to."""
    return [args[0], "-M", env[MODULES], "-m", "dump", *args[1:]] if FILE in env else args


def handed_over(env):
    """The simulator has its own copy now."""
    if FILE in env:
        number = next(number for number, descriptor in _files.items() if descriptor == int(env[FILE]))
        os.close(_files.pop(number))
