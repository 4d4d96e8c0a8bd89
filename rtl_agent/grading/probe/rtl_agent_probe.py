"""Reports from inside the sandbox over a private channel; loaded by a .pth file at every start of a harness's Python.

Two processes load it: pytest, which runs the harness, and the simulator, whose embedded Python runs the cocotb tests
beside the design under test. Both write JSON messages to an inherited SEQPACKET socket. RTL cannot: it opens files by
name, and this socket has none. What is not on the channel did not happen, whatever results.xml or stdout say.
"""

import gc
import json
import os
import random
import stat
import subprocess
import sys
import time

CHANNEL = "RTL_AGENT_CHANNEL"
SEED = "RTL_AGENT_SEED"
SIM = "RTL_AGENT_SIM"  # set for simulator processes only: the number of this simulation

MAX_TEXT = 4000
_WITHIN_A_DAY = 86_400

current_item = None  # the pytest item that is running, kept by rtl_agent_probe_pytest
warm_simulator = None  # stands in for `vvp` in a process that was forked from a warm one


def send(kind, **fields):
    """One message. A process that was not given the channel has nothing to report to."""
    if _channel is not None:
        data = json.dumps({"kind": kind, **{key: _cut(value) for key, value in fields.items()}}).encode()
        os.write(_channel, data)


def send_many(kind, key, values, **fields):
    """A list in messages small enough for one packet each."""
    for start in range(0, max(len(values), 1), 100):
        send(kind, **{key: [_cut(value)[:500] for value in values[start : start + 100]]}, **fields)


def _cut(value):
    return value[:MAX_TEXT] if isinstance(value, str) else value


def _open_channel():
    """The inherited socket, checked: in a process that was not given it the number may be some other file."""
    try:
        number = int(os.environ[CHANNEL])
        return number if stat.S_ISSOCK(os.fstat(number).st_mode) else None
    except (KeyError, ValueError, OSError):
        return None


def _fix_seeds(seed):
    """One seed per job. Harnesses that re-seed from nothing or from the clock get it as well."""
    original = random.seed

    def seed_again(a=None, version=2):
        original(seed if a is None or _is_clock(a) else a, version)

    random.seed = seed_again
    original(seed)


def _is_clock(value):
    if not isinstance(value, (int, float)):
        return False
    return any(abs(value / scale - time.time()) < _WITHIN_A_DAY for scale in (1, 1e3, 1e6, 1e9))


def _watch_processes():
    """Tell of compilers and simulators that the harness starts, and hand the channel to simulators alone."""
    start, run = subprocess.Popen.__init__, subprocess.run

    def watched_start(self, args, *rest, **options):
        if _program(args) == "vvp":
            options = _simulator_options(args, options)
        start(self, args, *rest, **options)

    def watched_run(args, *rest, **options):
        program = _program(args)
        warm = program == "vvp" and warm_simulator is not None and warm_simulator.can_run(args, options)
        if program != "iverilog" and not warm:
            return run(args, *rest, **options)
        checked = options.pop("check", False)
        if warm:
            done = warm_simulator.run(args, _simulator_options(args, options))
        else:
            _guard.forget(_option(args, "-o"))
            if _netlists is not None:
                args = _netlists.in_place_of_sources(args, options, run, send, current_item)
            done = run(args, *rest, **options)
            _report_build(run, args, options, done.returncode)
        if checked:
            done.check_returncode()
        return done

    subprocess.Popen.__init__ = watched_start
    subprocess.run = watched_run


def _simulator_options(args, options):
    global _simulations
    _simulations += 1
    options = dict(options)
    env = dict(options.get("env") or os.environ)
    for path in _guard.changed(options.get("cwd"), args):
        send("tampered", path=path, item=current_item)
    send("simulation", sim=_simulations, item=current_item)
    env[SIM] = str(_simulations)
    # cocotb 1.9 sets PYTHONHOME to the environment, which then is no environment any more: no .pth file is read.
    env.pop("PYTHONHOME", None)
    env["VIRTUAL_ENV"] = sys.prefix
    env["PYTHONPATH"] = os.pathsep.join(_guard.trusted_first(env.get("PYTHONPATH", "").split(os.pathsep)))
    options["env"] = env
    options["pass_fds"] = (*options.get("pass_fds", ()), _channel)
    return options


def report_tampering():
    """At the end, once no simulation can change anything any more."""
    if _guard is not None and _simulations:
        for path in _guard.changed_harness():
            send("tampered", path=path, item=None)


def _report_build(run, args, options, exit_code):
    said = ""
    if exit_code != 0:  # the harness sends the compiler's words to a log file or nowhere: ask it again
        again = run(args, cwd=options.get("cwd"), env=options.get("env"), capture_output=True)
        said = (again.stdout + again.stderr).decode(errors="replace")
    send("build", exit=exit_code, said=said, item=current_item)


def _program(args):
    if isinstance(args, (list, tuple)) and args and isinstance(args[0], str):
        return os.path.basename(args[0])
    return ""


def _option(args, name):
    return args[args.index(name) + 1] if name in args[:-1] else None


_channel = None
_simulations = 0
_guard = None
_netlists = None  # in netlist mode: rtl_agent_probe_netlist


def activate():
    """Begin to report, if this process was given the channel. A warm process is forked first, and activated then."""
    global _channel, _guard, _netlists
    _channel = _open_channel()
    if _channel is None:
        return
    import rtl_agent_probe_imports

    gc.set_threshold(20_000, 50, 100)  # collections took an eighth of a simulation's CPU, and found next to nothing
    _guard = rtl_agent_probe_imports.install()
    if os.environ.get(SEED):
        _fix_seeds(int(os.environ[SEED]))
    if os.environ.get(SIM):
        import rtl_agent_probe_cocotb

        rtl_agent_probe_cocotb.watch_regressions(int(os.environ[SIM]))
    else:
        import rtl_agent_probe_netlist

        _netlists = rtl_agent_probe_netlist.make()
        send("hello", python=sys.version.split()[0])
        _watch_processes()


activate()
