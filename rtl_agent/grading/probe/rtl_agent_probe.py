"""Reports from inside the sandbox over a private channel; loaded by a .pth file at every start of a harness's Python.

Two processes load it: pytest, which runs the harness, and the simulator, whose embedded Python runs the cocotb tests
beside the design under test. Both write JSON messages to an inherited SEQPACKET socket. RTL cannot: it opens files by
name, and this socket has none. What is not on the channel did not happen, whatever results.xml or stdout say.
"""

import gc
import json
import os
import resource
import stat
import subprocess
import sys

import rtl_agent_probe_chance
import rtl_agent_probe_dump
import rtl_agent_probe_seal
import rtl_agent_probe_written

CHANNEL = "RTL_AGENT_CHANNEL"
SEED = "RTL_AGENT_SEED"
NETLIST = "RTL_AGENT_NETLIST"  # set: designs are replaced by what Yosys makes of them
SIM = "RTL_AGENT_SIM"  # set for simulator processes only: the number of this simulation

MAX_TEXT = 4000
_COCOTB_SEEDS = ("COCOTB_RANDOM_SEED", "RANDOM_SEED")  # 2.x reads either, the first one first; 1.9 the second

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


def _watch_processes():
    """Tell of compilers and simulators that the harness starts, and hand the channel to simulators alone."""
    start, run = subprocess.Popen.__init__, subprocess.run

    def watched_start(self, args, *rest, **options):
        if _program(args) != "vvp" or rtl_agent_probe_seal.is_without_design():
            start(self, args, *rest, **{**options, "env": _with_seed_of_child(options.get("env"))})
            return
        options = _simulator_options(args, options)
        try:
            start(self, rtl_agent_probe_dump.with_module(args, options["env"]), *rest, **options)
        finally:
            os.close(int(options["env"][rtl_agent_probe_seal.IMAGE]))
            rtl_agent_probe_dump.handed_over(options["env"])

    def watched_run(args, *rest, **options):
        program = _program(args)
        if rtl_agent_probe_seal.is_without_design():
            return _run_without_design(run, program, args, options)
        warm = program == "vvp" and warm_simulator is not None and warm_simulator.can_run(args, options)
        if program == "vvp" and not warm:
            with rtl_agent_probe_seal.output_without_name(options) as nameless:
                done = run(args, *rest, **nameless)
            _report_flood()
            return done
        if program != "iverilog" and not warm:
            return run(args, *rest, **options)
        checked = options.pop("check", False)
        if warm:
            options = _simulator_options(args, options)
            words = " ".join(args)
            with rtl_agent_probe_seal.output_without_name(options) as nameless, rtl_agent_probe_seal.closed(words):
                done = warm_simulator.run(args, nameless)
            os.close(int(options["env"][rtl_agent_probe_seal.IMAGE]))
            _report_flood()
        else:
            _guard.forget(_option(args, "-o"))
            if _netlists is not None:
                args = _netlists.in_place_of_sources(args, options, run, send, current_item)
            if warm_simulator is not None and not rest:
                import rtl_agent_warm_compile

                done = rtl_agent_warm_compile.run(run, args, options)
            else:
                done = run(args, *rest, **options)
            _report_build(run, args, options, done.returncode)
        if checked:
            done.check_returncode()
        return done

    subprocess.Popen.__init__ = watched_start
    subprocess.run = watched_run


def _run_without_design(run, program, args, options):
    """A compiler or simulator of the harness's own: nothing about it is told."""
    if program != "iverilog" or warm_simulator is None:
        return run(args, **options)
    import rtl_agent_warm_compile

    return rtl_agent_warm_compile.run(run, args, options)


def _simulator_options(args, options):
    with rtl_agent_probe_seal.lock:
        return _options_of_next_simulation(args, options)


def _options_of_next_simulation(args, options):
    global _simulations
    _simulations += 1
    options = dict(options)
    env = dict(options.get("env") or os.environ)
    for path in _guard.changed(options.get("cwd"), args):
        send("tampered", path=path, item=current_item)
    env[SIM] = str(_simulations)
    send("simulation", sim=_simulations, item=current_item, seed=_give_seed(env))
    # cocotb 1.9 sets PYTHONHOME to the environment, which then is no environment any more: no .pth file is read.
    env.pop("PYTHONHOME", None)
    env["VIRTUAL_ENV"] = sys.prefix
    env["PYTHONPATH"] = os.pathsep.join(_guard.trusted_first(env.get("PYTHONPATH", "").split(os.pathsep)))
    image = rtl_agent_probe_seal.image()
    env[rtl_agent_probe_seal.IMAGE] = str(image)
    options["env"] = env
    waves = rtl_agent_probe_dump.hand_over(_simulations, env)
    options["pass_fds"] = (*options.get("pass_fds", ()), _channel, image, *waves)
    return options


def count_child():
    """One more process that is no simulator, whether it is started or something stands in for it."""
    global _children
    _children += 1


def _with_seed_of_child(env):
    """The environment of a process that is no simulator: it may be a script that draws."""
    count_child()
    env = dict(os.environ if env is None else env)
    if os.environ.get(SEED):
        env[SEED] = str(rtl_agent_probe_chance.seed_of_child(int(os.environ[SEED]), _children))
    return env


def _give_seed(env):
    """The seed of this simulation. One that the harness set itself stays: it is not the job's."""
    job = os.environ.get(SEED, "0")
    own = env[SEED] = str(rtl_agent_probe_chance.derived_seed(int(job), _simulations))
    for name in _COCOTB_SEEDS:
        if env.get(name) == job:
            env[name] = own
    given = [env[name] for name in _COCOTB_SEEDS if env.get(name, own) != own]
    return int(given[0]) if given and given[0].isdigit() else int(own)


def report_tampering():
    """At the end, once no simulation can change anything any more."""
    rtl_agent_probe_seal.reopen()
    if _guard is not None and _simulations:
        for path in _guard.changed_harness():
            send("tampered", path=path, item=None)


def _report_build(run, args, options, exit_code):
    said = ""
    if exit_code != 0:  # the harness sends the compiler's words to a log file or nowhere: ask it again
        again = run(args, cwd=options.get("cwd"), env=options.get("env"), capture_output=True)
        said = (again.stdout + again.stderr).decode(errors="replace")
    send("build", exit=exit_code, said=said, told=_told(args), item=current_item)


def _told(args):
    """Macros, and directories of included files, that this compiler was told of."""
    words = [word + args[at + 1] if word in ("-D", "-I") else word for at, word in enumerate(args[:-1])]
    return [word for word in words if word.startswith(("-D", "-I"))]


def _report_flood():
    """A box stops what prints without end; pytest captures output in a file, where it only does not fit any more."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    found = [os.fstat(descriptor) for descriptor in (1, 2)]
    if most >= 0 and any(stat.S_ISREG(one.st_mode) and one.st_size >= most for one in found):
        send("flooded", item=current_item)


def _program(args):
    if isinstance(args, (list, tuple)) and args and isinstance(args[0], str):
        return os.path.basename(args[0])
    return ""


def _option(args, name):
    return args[args.index(name) + 1] if name in args[:-1] else None


_channel = None
_simulations = 0
_children = 0
_guard = None
_netlists = None  # in netlist mode: rtl_agent_probe_netlist
_prepared = False
_files = {}  # of the harness, in a simulator


def prepare(simulates, seeded=True):
    """What no job decides. A warm process does it before it forks: done afterwards it costs 250 pages."""
    global _guard, _prepared
    import rtl_agent_probe_imports

    if seeded:
        rtl_agent_probe_chance.replace()
    gc.set_threshold(20_000, 50, 100)  # collections took an eighth of a simulation's CPU, and found next to nothing
    _guard = rtl_agent_probe_imports.install(_files if simulates else None)
    rtl_agent_probe_imports.look_again()
    if simulates:
        import rtl_agent_probe_cocotb

        rtl_agent_probe_written.hide_from_design()
        rtl_agent_probe_seal.open_from(_files)
        rtl_agent_probe_cocotb.watch_regressions()
    else:
        rtl_agent_probe_seal.watch_processes()
        _watch_processes()
    _prepared = True


def activate(files=None):
    """Begin to report, if this process was given the channel. A warm process is prepared and forked first, and
    activated then.

    `files` is the harness for a simulator that was forked with it.
    """
    global _channel, _netlists
    _channel = _open_channel()
    seed, sim = os.environ.get(SEED), os.environ.get(SIM)
    if _channel is None:
        if seed:
            rtl_agent_probe_chance.install(int(seed))
        return
    if not _prepared:
        prepare(bool(sim), bool(seed))
    if seed:
        rtl_agent_probe_chance.begin(int(seed))
    import rtl_agent_probe_imports

    image = os.environ.pop(rtl_agent_probe_seal.IMAGE, None)
    if sim:
        import rtl_agent_probe_cocotb

        _files.update(rtl_agent_probe_seal.read_image(int(image)) if files is None else files)
        rtl_agent_probe_cocotb.begin(int(sim))
    else:
        if os.environ.get(NETLIST):
            import rtl_agent_probe_netlist

            _netlists = rtl_agent_probe_netlist.make()
        rtl_agent_probe_dump.open_files()
        send("hello", python=sys.version.split()[0])
    rtl_agent_probe_imports.look_again()


activate()
