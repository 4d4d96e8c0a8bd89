"""A warm simulator: vvp with cocotb imported, which forks a process for each simulation.

Two sides. `serve` runs inside vvp (called by warm_start.c, before any design is read) and forks. `WarmSimulator` is the
client, in the process that runs a harness: it stands in for `subprocess.run(["vvp", ...])`.

A request goes over a SEQPACKET socket with the file descriptors that the simulation is to have; the answer is its exit
code. `sync` ends whatever still runs, and is answered when nothing does.
"""

import array
import atexit
import ctypes
import fnmatch
import glob
import importlib
import inspect
import json
import logging
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import types
from contextlib import suppress

import rtl_agent_probe
import rtl_agent_probe_checks
import rtl_agent_probe_seal
import rtl_agent_probe_written
import rtl_agent_warm_code
import rtl_agent_warm_compile
import rtl_agent_warm_memory
import rtl_agent_warm_scheduler
import rtl_agent_warm_scheduler_1

DESIGN = "warm.vvp"  # what vvp was told to open: no such file, each simulation opens its own (warm_start.c)
_FD = "RTL_AGENT_WARM_FD"
_WAVES = "RTL_AGENT_WAVES"  # set: the harness handles wave files
_MODULES = (
    "cocotb",
    "cocotb._init",
    "cocotb.binary",
    "cocotb.clock",
    "cocotb.handle",
    "cocotb.queue",
    "cocotb.regression",
    "cocotb.result",
    "cocotb.triggers",
    "cocotb.types",
    "cocotb.utils",
    "cocotb_tools._coverage",
    "pygpi.entry",
    "pytest",
    "rtl_agent_probe_imports",
)
_READ_AT_IMPORT = (  # by cocotb, of either generation: a warm one has been imported without them
    "COCOTB_ENABLE_PROFILING",
    "COCOTB_INDEXING_CHANGED_WARNING",
    "COCOTB_PDB_ON_EXCEPTION",
    "COCOTB_REDUCED_LOG_FMT",
    "COCOTB_RESOLVE_X",
    "COCOTB_SCHEDULER_DEBUG",
    "COCOTB_TRUST_INERTIAL_WRITES",
    "COVERAGE",
)
_PACKET = 1 << 20
_NET_BYTES = 56  # of vvp's nets, in all versions since 11

_set_arguments = None  # vvp's function for its command line
_arguments = None  # what it was given last
_functions_at_exit = 0  # those that Python calls at its end, before any test was imported


def serve():
    """Fork for every request. Returns in the forked process only, which then becomes that simulation."""
    link = socket.socket(fileno=int(os.environ.pop(_FD)))
    _import_everything()
    _fill_pool_of_nets()
    rtl_agent_probe.prepare(simulates=True)
    rtl_agent_warm_memory.settle()
    link.send(json.dumps({"ready": True, "arguments": _set_arguments is not None}).encode())
    while True:
        request, fds = _receive(link)
        if request is None:
            os._exit(0)
        if request.get("sync"):
            _answer_sync(link)
            continue
        harness = rtl_agent_probe_seal.read_image(fds.pop())
        rtl_agent_warm_code.compile_ahead(harness, rtl_agent_probe_checks.WANTED in request["env"])
        child = rtl_agent_warm_memory.fork()
        if child == 0:
            link.close()
            _become(request, fds, harness)
            return
        for fd in fds:
            os.close(fd)
        _wait(link, child)


def _wait(link, child):
    """Until the simulation ends, or is asked to."""
    ended = os.pidfd_open(child)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(link, select.POLLIN)
    asked = False
    try:
        while not any(fd == ended for fd, _ in poll.poll()):
            request, _ = _receive(link)
            os.kill(child, signal.SIGKILL)
            if request is None:
                os._exit(0)
            asked = True
            poll.unregister(link)
        _, status = os.waitpid(child, 0)
    finally:
        os.close(ended)
    if asked:
        _answer_sync(link)
    else:
        link.send(json.dumps({"exit": os.waitstatus_to_exitcode(status)}).encode())


def _answer_sync(link):
    """With the CPU seconds of all simulations so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    link.send(json.dumps({"synced": True, "cpu": usage.ru_utime + usage.ru_stime}).encode())


def _become(request, fds, harness):
    os.setsid()
    env = request["env"]
    nothing = os.open("/dev/null", os.O_RDONLY)
    for source, target in zip((nothing, *fds), (0, 1, 2, int(env["RTL_AGENT_CHANNEL"])), strict=True):
        os.dup2(source, target, inheritable=True)
        if source not in (0, 1, 2, target):
            os.close(source)
    for limit, value in request["limits"].items():
        resource.setrlimit(int(limit), (value, value))
    os.environ.clear()
    os.environ.update(env)
    os.chdir(request["cwd"])
    _open_instead(request["design"])
    if _set_arguments is not None:
        _take_arguments([request["design"], *request["arguments"]])
    _take_over_python(env, harness)


def _take_over_python(env, harness):
    """What a new interpreter would have from this environment: its search path, its seeds, the probe."""
    global _functions_at_exit
    import rtl_agent_probe_cocotb

    given = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = dict.fromkeys([*given, *sys.path])
    _functions_at_exit = atexit._ncallbacks()
    rtl_agent_probe_cocotb.after_regression = _end
    if hasattr(sys.modules["cocotb"], "LANGUAGE"):  # 1.9 reads it when it is imported
        sys.modules["cocotb"].LANGUAGE = env.get("TOPLEVEL_LANG")
    rtl_agent_probe.activate(harness)


def _end():
    """Python is not taken down at the end (see warm_start.c), which would touch every page, unless tests have left what
    only that does: files that are open, functions for the end, threads that are waited for."""
    if (
        rtl_agent_probe_written.open_files()
        or atexit._ncallbacks() > _functions_at_exit
        or threading.active_count() > 1
    ):
        ctypes.CDLL(None)["rtl_agent_end_orderly"]()
    sys.stdout.flush()
    sys.stderr.flush()


def _import_everything():
    """What every simulation would load by itself, once for all of them."""
    global _set_arguments
    import rtl_agent_probe_cocotb

    _set_arguments = _find_set_arguments()

    for module in _MODULES:
        with suppress(ImportError):  # some are of one cocotb generation only
            importlib.import_module(module)
    for path in _system_modules():
        with suppress(OSError):
            ctypes.CDLL(path)
    rtl_agent_probe_cocotb.rewrite_assertions_once()
    rtl_agent_probe_cocotb.give_old_names()
    _fill_caches()
    _number_lines_quickly()
    _keep_real_functions()
    rtl_agent_warm_scheduler.install()
    rtl_agent_warm_scheduler_1.install()


def _fill_caches():
    """Regular expressions that every simulation would compile for itself: of its log, source lines, file names."""
    inspect.getsourcelines(_fill_caches)
    for pattern in ("test_*.py", "*_test.py", "*.py"):
        fnmatch.fnmatch("", pattern)
    with suppress(ImportError, AttributeError):  # 1.9 has others
        importlib.import_module("cocotb.logging").SimLogFormatter()
        importlib.import_module("cocotb._xunit_reporter").bin_xml_escape("")  # 20 ms in each failing simulation


def _number_lines_quickly():
    """cocotb reads each test's source for the number of its first line, which the function knows: 0.3 ms a test."""
    regression = sys.modules["cocotb.regression"]
    quick = types.SimpleNamespace(**vars(inspect))
    quick.getsourcelines = lambda function: ([], function.__code__.co_firstlineno)
    regression.inspect = quick


def _keep_real_functions():
    """The probe asks at each call of these whether the harness wants to know (rtl_agent_probe_chance.py). Modules that
    are not the harness's get the real answer anyway; the busiest of them keep the real function."""
    for name in ("time", "os"):
        setattr(logging, name, types.SimpleNamespace(**vars(sys.modules[name])))
    for module in (sys.modules["cocotb.handle"], sys.modules["cocotb.triggers"], sys.modules["cocotb.utils"]):
        module.hash, module.id = hash, id


def _find_set_arguments():
    """vvp's own function for its command line; None where it is not to be had."""
    try:
        function = ctypes.CDLL(None)["_Z17vpi_set_vlog_infoiPPc"]  # C++: vpi_set_vlog_info(int, char**)
    except AttributeError:
        return None
    function.restype = None
    return function


def _fill_pool_of_nets():
    """vvp's own function that gives a net its memory: the first time it takes 1 MiB, and writes to each page of it."""
    try:
        allocate = ctypes.CDLL(None)["_ZN9vvp_net_tnwEm"]  # C++: vvp_net_t::operator new(unsigned long)
    except AttributeError:
        return
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    child = os.fork()
    if child == 0:  # it aborts where a net has another size
        nothing = os.open("/dev/null", os.O_WRONLY)
        os.dup2(nothing, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        allocate(_NET_BYTES)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        allocate(_NET_BYTES)


def _open_instead(path):
    """vvp opens the name that it was started with: the preloaded fopen takes this one for it, once."""
    function = ctypes.CDLL(None)["rtl_agent_open_instead"]
    function.restype = None
    function(ctypes.c_char_p(os.fsencode(path)))


def _take_arguments(words):
    """The design's name and the plusargs, as vvp would have them from its command line."""
    global _arguments
    _arguments = (ctypes.c_char_p * (len(words) + 1))(*map(os.fsencode, words), None)  # vvp keeps the pointer
    _set_arguments(ctypes.c_int(len(words)), _arguments)


def _system_modules():
    """Icarus' own VPI modules, which every compiled design names: loading them takes 1 ms each."""
    prefix = os.path.dirname(os.path.dirname(shutil.which("vvp") or "/usr/bin/vvp"))
    return (
        glob.glob(f"{prefix}/lib/**/ivl/*.vpi", recursive=True)
        if prefix != "/usr"
        else glob.glob("/usr/lib/*/ivl/*.vpi")
    )


def _receive(link):
    """One packet and its descriptors; None when the other side is gone."""
    size = array.array("i").itemsize
    data, ancillary, _, _ = link.recvmsg(_PACKET, socket.CMSG_SPACE(8 * size))
    fds = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % size])
    return (json.loads(data) if data else None), list(fds)


class WarmSimulator:
    """Starts the warm vvp, and runs simulations in it."""

    def __init__(self, prefix, module_directory, env):
        """`prefix` is how cocotb's runner starts vvp: program, -M, directory, -m, module."""
        self._prefix = list(prefix)
        self._link, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = [*prefix, "-M", module_directory, "-m", "warm_start", DESIGN, "-none"]
        self._process = subprocess.Popen(
            argv,
            env={**env, _FD: str(far.fileno()), "LD_PRELOAD": f"{module_directory}/warm_start.vpi"},
            pass_fds=(far.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        far.close()
        ready = _receive(self._link)[0]
        if not ready:
            raise RuntimeError(f"the warm simulator did not start: exit code {self._process.wait()}")
        self._takes_arguments = ready["arguments"]
        self.limits = {}
        self.owner = None  # the process of the job: what its harness forks would mix up requests and answers
        self._turn = threading.Lock()
        self._cpu_seconds = 0.0

    def can_run(self, args, options):
        """As cocotb's runner starts it: a compiled design, plusargs, a format of waves."""
        if os.getpid() != self.owner:
            return False
        rest = list(args[len(self._prefix) :])
        same = list(args[: len(self._prefix)]) == self._prefix
        simple = _WAVES not in os.environ and all(word in ("-none", "-fst") for word in rest[1:])
        known = simple or (self._takes_arguments and all(word[:1] in ("+", "-") for word in rest[1:]))
        usual = not any(name in (options.get("env") or os.environ) for name in _READ_AT_IMPORT)
        return same and usual and bool(rest) and rest[0].endswith(".vvp") and known and not options.get("shell")

    def run(self, args, options):
        """As subprocess.run does it."""
        out = _fileno(options.get("stdout"), 1)
        err = out if options.get("stderr") == subprocess.STDOUT else _fileno(options.get("stderr"), 2)
        channel = int(os.environ["RTL_AGENT_CHANNEL"])
        cwd = os.path.abspath(options.get("cwd") or ".")
        design = os.path.join(cwd, args[len(self._prefix)])
        request = {"env": options["env"], "cwd": cwd, "design": design, "limits": self.limits}
        request["arguments"] = args[len(self._prefix) + 1 :]
        if _WAVES not in os.environ and not _dumps(design, request["arguments"]):
            # Nobody looks at waves, and writing them takes its time.
            request["arguments"] = [word for word in request["arguments"] if word.startswith("+")] + ["-none"]
        image = int(options["env"][rtl_agent_probe_seal.IMAGE])
        with self._turn:  # a harness with threads may start several at once; the warm simulator runs one at a time
            socket.send_fds(self._link, [json.dumps(request).encode()], [out, err, channel, image])
            answer, _ = _receive(self._link)
        if answer is None:
            raise RuntimeError("the warm simulator ended")
        return subprocess.CompletedProcess(args, answer["exit"])

    def sync(self):
        """End what still runs; the CPU seconds of simulations since the last time, None if the warm one is gone."""
        try:
            self._link.send(b'{"sync": true}')
            while True:
                answer, _ = _receive(self._link)
                if answer is None:
                    return None
                if answer.get("synced"):
                    before, self._cpu_seconds = self._cpu_seconds, answer["cpu"]
                    return self._cpu_seconds - before
        except OSError:
            return None


def _dumps(design, arguments):
    """Whether a design dumps waves itself: that may end its simulation, where it cannot write them for one.

    What the module that cocotb's runner adds for `-fst` dumps is not the design's.
    """
    if "-none" in arguments:
        return False
    runners = rtl_agent_warm_compile.runner_dumps.get(design, 0) if "-fst" in arguments else 0
    try:
        with open(design, "rb") as stream:
            return stream.read().count(b'"$dump') > runners
    except OSError:
        return False


def _fileno(stream, default):
    if stream is None:
        return default
    return stream if isinstance(stream, int) else stream.fileno()
