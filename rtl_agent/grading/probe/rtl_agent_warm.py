"""A warm harness: a Python with pytest and cocotb's runner imported, which forks a process for each job.

    python3 rtl_agent_warm.py CONTROL CHANNEL VPI_DIRECTORY PLACES

Started once in a box, by the grader; PLACES is JSON, each directory that can be written with its mode. A job comes over
the CONTROL socket (4 bytes of length, then JSON): files, the service's command and environment, limits. The forked
process collects the harness's tests, puts the design in place, and runs them, with `vvp` replaced by a warm simulator.
The verdict goes over CHANNEL as on the exact path; the answer on CONTROL only says how the process ended, and whether
the box can have another job.
"""

import atexit
import fcntl
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress

import rtl_agent_warm_code
import rtl_agent_warm_files
import rtl_agent_warm_memory
import rtl_agent_warm_places

OUTPUT_BYTES = 16384  # of what a job printed, its end


def main(control, channel, vpi_directory, modes):
    import rtl_agent_warm_imports

    places = rtl_agent_warm_places.Places(modes)
    rtl_agent_warm_places.adopt_orphans()
    for descriptor in (control, channel):
        os.set_inheritable(descriptor, False)  # simulators are handed the channel, and nothing else is
    rtl_agent_warm_imports.import_everything()
    link = socket.socket(fileno=control)
    simulator = rtl_agent_warm_imports.start_simulator(vpi_directory)
    compiler = rtl_agent_warm_imports.start_compiler(vpi_directory)
    rtl_agent_warm_imports.prepare_probe()
    places.clear()
    rtl_agent_warm_memory.settle()
    _send(link, {"ready": True})
    while (job := _receive(link)) is not None:
        answer, process = run_job(job, link, channel, simulator)
        for name, tool in (("simulator", simulator), ("compiler", compiler)):
            cpu = tool.sync() if tool else 0.0
            if cpu is None:
                answer["gone"] = f"the warm {name} ended"
            else:
                answer["cpu"] += cpu
        answer["spent"] = leave_nothing(places, process)
        _send(link, answer)


def leave_nothing(places, process):
    """Why this box cannot have another job; "" when nothing of this one is left."""
    try:
        rtl_agent_warm_places.end_processes_since(process)
        places.clear()
    except (OSError, RecursionError, rtl_agent_warm_places.Unclean) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def run_job(job, link, channel, simulator):
    """How the job ended, and the process that it was."""
    _compile_ahead(job["plain"], job["files"])
    output = os.memfd_create("output")
    fcntl.fcntl(output, fcntl.F_SETFL, os.O_APPEND)  # as in a pipe, what was printed cannot be printed over
    started = time.monotonic()
    child = rtl_agent_warm_memory.fork()
    if child == 0:
        link.close()
        _run_child(job, channel, simulator, output)
    ended = _wait(child, link, started + job["wall_seconds"])
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # compilers and the like that a killed job left
    _, status, usage = os.wait4(child, 0)
    size = os.fstat(output).st_size
    said = os.pread(output, OUTPUT_BYTES, max(0, size - OUTPUT_BYTES)).decode(errors="replace")
    os.close(output)
    answer = {
        # As a box does it: what fills the file without a name was printed without end.
        "ended": "output" if size >= job["file_bytes"] else ended,
        "exit": os.waitstatus_to_exitcode(status),
        "said": said,
        "cpu": usage.ru_utime + usage.ru_stime,
        "wall": time.monotonic() - started,
    }
    return answer, child


def _compile_ahead(path, files):
    """Here, and not in the forked process, so that the next job has it too. Everything else is done there: what this
    process touches after a fork it touches for the price of a page."""
    if path:
        text = files[path.lstrip("/")]
        with suppress(SyntaxError, ValueError, RecursionError):
            rtl_agent_warm_code.rewritten(path, text.encode(errors="replace"))
        if "rtl_agent_bench" in text:
            importlib.import_module("rtl_agent_bench")  # slang takes 60 ms


def _run_child(job, channel, simulator, output):
    """Never returns."""
    status = 70
    functions = atexit._ncallbacks()
    try:
        os.setsid()
        nothing = os.open("/dev/null", os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        simulator.limits = {str(resource.RLIMIT_CPU): job["cpu_seconds"], str(resource.RLIMIT_FSIZE): job["file_bytes"]}
        for limit, value in simulator.limits.items():
            resource.setrlimit(int(limit), (value, value))
        os.environ.clear()
        os.environ.update(job["env"])
        os.environ["RTL_AGENT_CHANNEL"] = str(channel)
        rtl_agent_warm_files.lay_out(job["files"], src_writable=job["src_writable"])
        os.chdir("/code/rundir")
        import rtl_agent_warm_run

        status = rtl_agent_warm_run.run(job, simulator)
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        try:
            if atexit._ncallbacks() > functions or threading.active_count() > 1:
                # As at the end of a cold pytest: a harness may wait for a thread, or compare something, only then.
                threading._shutdown()
                atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def _wait(child, link, deadline):
    """How the job came to its end: by itself, by its deadline, or because nobody waits for it any more."""
    ended = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.register(link, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            ready = poll.poll(max(0.0, left) * 1000)
            if any(fd == ended for fd, _ in ready):
                return "exited"
            os.kill(child, signal.SIGKILL)
            if ready:  # the grader speaks out of turn, or has hung up
                if _receive(link) is None:
                    os._exit(0)
                return "cancelled"
            return "wall-time"
    finally:
        os.close(ended)


def _send(link, message):
    data = json.dumps(message).encode()
    link.sendall(len(data).to_bytes(4, "big") + data)


def _receive(link):
    """The next message; None when the grader has hung up."""
    size = _exactly(link, 4)
    body = _exactly(link, int.from_bytes(size, "big")) if size else None
    return json.loads(body) if body else None


def _exactly(link, size):
    data = bytearray()
    while len(data) < size:
        chunk = link.recv(min(1 << 20, size - len(data)))
        if not chunk:
            return None
        data += chunk
    return bytes(data)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4]))
