"""Checks: a box neither sees nor reaches the host or another box, and does not fall to known attacks."""

import os
import socket
import tempfile
from pathlib import Path

from rtl_agent.sandbox.checks.common import (
    PYTHON,
    box_of,
    expect,
    expect_equal,
    expect_error,
    expect_output,
    expect_usable,
    python,
    shell,
)
from rtl_agent.sandbox.protocol import Limits, Mount, Sandbox

LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
CALL = "if {call} < 0: raise OSError(ctypes.get_errno(), '')"


async def check_no_host_network(sandbox: Sandbox) -> None:
    """A server on the host's loopback cannot be reached, nor can any address outside."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        async with box_of(sandbox, ipc=True) as box:
            await expect_error(box, f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")
            await expect_error(box, "import socket; socket.create_connection(('192.0.2.1', 80), 2)")


async def check_no_interfaces(sandbox: Sandbox) -> None:
    """There is no network interface but the loopback."""
    async with box_of(sandbox, ipc=True) as box:
        await expect_output(box, "import socket; print([name for _, name in socket.if_nameindex()])", "['lo']")


async def check_no_abstract_sockets(sandbox: Sandbox) -> None:
    """Abstract unix sockets of the host cannot be reached."""
    with socket.socket(socket.AF_UNIX) as server:
        name = f"\0rtl-agent-check-{os.getpid()}"
        server.bind(name)
        server.listen()
        async with box_of(sandbox) as box:
            await expect_error(box, f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})")


async def check_no_vsock(sandbox: Sandbox) -> None:
    """No socket that leads to the hypervisor can be made."""
    async with box_of(sandbox) as box:
        await expect_error(box, "import socket; socket.socket(40, socket.SOCK_STREAM)")


async def check_no_proc(sandbox: Sandbox) -> None:
    """There is no /proc unless it was asked for: with /proc/self/mem RTL could rewrite its simulator."""
    async with box_of(sandbox) as box:
        expect_equal((await shell(box, "ls -A /proc; ls -A /sys")).stdout.strip(), b"")
        await expect_error(box, "open('/dev/fd/0')")


async def check_proc_shows_own_processes(sandbox: Sandbox) -> None:
    """With /proc only the box's own processes can be seen."""
    async with box_of(sandbox, proc=True) as box:
        result = await python(
            box, "import os; print(len([n for n in os.listdir('/proc') if n.isdigit()]), os.getpid())"
        )
        count, pid = map(int, result.stdout.split())
        expect(count <= 3 and pid < 100, result)


async def check_proc_is_harmless(sandbox: Sandbox) -> None:
    """With /proc the kernel's settings still cannot be written."""
    async with box_of(sandbox, proc=True) as box:
        for name in ("sys/kernel/core_pattern", "sys/kernel/hostname", "sysrq-trigger", "sys/vm/drop_caches"):
            await expect_error(box, f"open('/proc/{name}', 'w').write('x')")


async def check_host_files_invisible(sandbox: Sandbox) -> None:
    """The host's secrets and other people's files are not there; of their places empty files at most."""
    async with box_of(sandbox) as box:
        for path in (
            "/etc/shadow",
            "/etc/hostname",
            "/etc/resolv.conf",
            "/root/.ssh",
            "/var/log",
            "/run",
            "/sys",
            "/boot",
        ):
            expect_equal((path, (await shell(box, f"find {path} ! -type d ! -empty")).stdout), (path, b""))
        if not PYTHON.is_relative_to("/home"):
            expect(not (await box.run(["test", "-e", "/home"])).ok, "/home")


async def check_host_tmp_invisible(sandbox: Sandbox) -> None:
    """/tmp is the box's own."""
    with tempfile.NamedTemporaryFile(dir="/tmp") as file:
        Path(file.name).chmod(0o644)
        async with box_of(sandbox) as box:
            expect(not (await box.run(["test", "-e", file.name])).ok, "the host's file is there")
            expect_equal((await shell(box, "ls -A /tmp; echo x > /tmp/rtl-agent-check")).stdout, b"")
        expect(not Path("/tmp/rtl-agent-check").exists(), "the box wrote to the host's /tmp")


async def check_root_is_read_only(sandbox: Sandbox) -> None:
    """Nothing can be written outside the writable directories."""
    async with box_of(sandbox) as box:
        for path in (
            "/file",
            "/usr/file",
            "/usr/bin/env",
            "/etc/passwd",
            "/etc/file",
            "/dev/file",
            "/bin/file",
            "/home",
        ):
            expect(not (await shell(box, f": > {path}")).ok, path)
            expect(not (await shell(box, f"mkdir {path}")).ok, path)


async def check_mounts_are_read_only(sandbox: Sandbox) -> None:
    """A mounted directory or file can be read and not be changed; its place cannot be swapped."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "file").write_text("given\n")
        (folder / "file").chmod(0o666)
        mounts = [Mount(folder, "/code/given"), Mount(folder / "file", "/opt/file")]
        async with box_of(sandbox, mounts=mounts) as box:
            expect_equal((await shell(box, "cat /code/given/file /opt/file")).stdout, b"given\ngiven\n")
            for script in (
                "echo x > /code/given/file",
                "echo x > /opt/file",
                "rm -rf /code/given",
                "mv /code/given /code/g",
            ):
                expect(not (await shell(box, script)).ok, script)
            expect_equal(await box.read("/code/given/file"), b"given\n")
        expect_equal((folder / "file").read_text(), "given\n")


async def check_links(sandbox: Sandbox) -> None:
    """Links asked for are there, even below a /proc that is not."""
    async with box_of(sandbox, links={"/here/link": "/usr/bin", "/proc/self/exe": "/usr/bin/env"}) as box:
        expect_equal((await shell(box, "readlink /here/link /proc/self/exe")).stdout, b"/usr/bin\n/usr/bin/env\n")
        expect((await box.run(["/here/link/env"])).ok, "the link does not lead there")


async def check_no_capabilities(sandbox: Sandbox) -> None:
    """A command has no capability, is not root, and cannot gain rights from a setuid program."""
    header, got = "(ctypes.c_uint32 * 2)(0x20080522, 0)", "(ctypes.c_uint32 * 6)()"
    capget = f"print(libc.capget({header}, sets := {got}), [*sets])"
    held = "{{libc.prctl({}, 0, 0) for n in range(64)}} - {{-1}}"
    prctls = f"print({held.format('23, n, 0')}, {held.format('47, 1, n')})"
    last = "print(libc.prctl(39, 0, 0, 0, 0), 0 in os.getresuid() + os.getresgid(), 0 in os.getgroups())"
    async with box_of(sandbox) as box:
        wanted = "0 [0, 0, 0, 0, 0, 0]\n{0} {0}\n1 False False"  # all sets, bounding and ambient, no new privileges
        await expect_output(box, "\n".join((LIBC.strip(), capget, prctls, last)), wanted)
        await expect_error(box, "import os; os.setuid(0)")
        await expect_error(box, "import os; os.setgroups([0])")


async def check_no_mount(sandbox: Sandbox) -> None:
    """Mounting, unmounting, mknod and chroot are refused."""
    async with box_of(sandbox) as box:
        await expect_error(box, LIBC + CALL.format(call="libc.mount(b'none', b'/code', b'tmpfs', 0, None)"))
        await expect_error(box, LIBC + CALL.format(call="libc.mount(None, b'/', None, 32 | 4096, None)"))
        await expect_error(box, LIBC + CALL.format(call="libc.umount2(b'/usr', 2)"))
        await expect_error(box, "import os; os.mknod('/code/disk', 0o60666, os.makedev(8, 0))")
        await expect_error(box, "import os; os.mknod('/code/mem', 0o20666, os.makedev(1, 1))")
        await expect_error(box, "import os; os.chroot('/code')")


async def check_no_namespaces(sandbox: Sandbox) -> None:
    """No new user namespace can be made, so none of what it would allow."""
    async with box_of(sandbox) as box:
        for flags in (0x10000000, 0x10000000 | 0x00020000, 0x40000000, 0x20000000):
            await expect_error(box, LIBC + CALL.format(call=f"libc.unshare({flags})"))


async def check_no_kernel_keys(sandbox: Sandbox) -> None:
    """The kernel's keyrings cannot be reached: the launcher's session keyring is inherited."""
    async with box_of(sandbox) as box:
        result = await python(box, LIBC + "print(libc.syscall({'x86_64': 250}.get(os.uname().machine, 219), 0, -3, 0))")
        expect_equal(result.stdout.strip(), b"-1")


async def check_launcher_environment(sandbox: Sandbox) -> None:
    """The launcher's environment does not leak, not even through /proc/1/environ."""
    os.environ["RTL_AGENT_CHECK_SECRET"] = "leaked"  # noqa: S105  (bait, not a password)
    try:
        async with box_of(sandbox, proc=True) as box:
            result = await shell(box, "env; cat /proc/*/environ /proc/*/cmdline")
            expect(b"leaked" not in result.stdout, "the secret came out")
    finally:
        del os.environ["RTL_AGENT_CHECK_SECRET"]


async def check_fds_are_closed(sandbox: Sandbox) -> None:
    """A command has stdin, stdout and stderr and no other open file, not even an inheritable one of the host."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        async with box_of(sandbox) as box:
            stat = "    try: os.fstat(fd)\n    except OSError: continue\n    print(fd)"
            code = f"import os\nfor fd in range(3, 4096):\n{stat}"
            await expect_output(box, code, "")
    finally:
        os.close(reading)
        os.close(writing)


async def check_passed_fds(sandbox: Sandbox) -> None:
    """Files handed over at `open` reach just the commands that name them, under the same numbers."""
    ours, theirs = socket.socketpair()
    reading, writing = os.pipe()
    with ours, theirs:
        try:
            async with box_of(sandbox, pass_fds=(theirs.fileno(), writing)) as box:
                result = await python(
                    box, f"import os; os.write({theirs.fileno()}, b'hello')", pass_fds=(theirs.fileno(),)
                )
                expect(result.ok and ours.recv(100) == b"hello", result)
                expect(
                    not (await python(box, f"import os; os.fstat({theirs.fileno()})")).ok, "there without being named"
                )
                code = f"import os; os.fstat({writing})"
                expect(not (await python(box, code, pass_fds=(theirs.fileno(),))).ok, "there without being named")
                expect((await python(box, f"import os; os.write({writing}, b'x')", pass_fds=(writing,))).ok, "second")
                expect_equal(os.read(reading, 10), b"x")
        finally:
            os.close(reading)
            os.close(writing)


async def check_devices(sandbox: Sandbox) -> None:
    """/dev has the harmless devices, and they work; shared memory and terminals only where they were asked for."""
    known = {"fd", "full", "null", "random", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}
    for ipc in (False, True):
        async with box_of(sandbox, ipc=ipc) as box:
            works = await shell(box, "echo x > /dev/null && head -c 4 /dev/zero && head -c 4 /dev/urandom")
            expect(works.ok, "missing")
            found = set((await box.run(["ls", "-A", "/dev"])).stdout.decode().split())
            unknown = found - known - ({"core", "ptmx", "pts", "shm", "console", "mqueue"} if ipc else set())
            expect(not unknown, unknown)


async def check_init_cannot_be_harmed(sandbox: Sandbox) -> None:
    """Pid 1 of the box can be neither signalled away, traced, throttled nor limited."""
    async with box_of(sandbox) as box:
        for number in (1, 2, 9, 11, 15, 19, 20):
            await shell(box, f"kill -{number} 1; kill -{number} $PPID")  # the init's own pid, where that is not 1
        await expect_usable(box)
        for call in ("os.setpriority(os.PRIO_PROCESS, {0}, 19)", "resource.prlimit({0}, resource.RLIMIT_CPU, (0, 0))"):
            await expect_error(box, "import os, resource; " + call.format("os.getppid()"))
        await expect_error(box, LIBC + CALL.format(call="libc.ptrace(16, os.getppid(), 0, 0)"))
        if (await shell(box, "kill -0 1")).ok:  # else pid 1 is not even there for the command
            await expect_error(box, LIBC + CALL.format(call="libc.ptrace(16, 1, 0, 0)"))
            await expect_error(box, LIBC + CALL.format(call="libc.ptrace(0x4206, 1, 0, 0)"))
            await expect_error(box, "import resource; resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))")
            await expect_error(box, "import os; os.setpriority(os.PRIO_PROCESS, 1, 19)")
            await expect_error(box, "import os; os.setpriority(os.PRIO_USER, os.getuid(), 19)")
            await expect_error(box, "import os; os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))")
        await expect_usable(box)


async def check_processes_cannot_look_into_each_other(sandbox: Sandbox) -> None:
    """A process can neither trace another one of its box nor take over its file descriptors."""
    async with box_of(sandbox) as box:
        victim = "import os, signal, time\nother = os.fork()\nif other == 0: time.sleep(20); os._exit(0)\n"
        for call in ("libc.ptrace(16, other, 0, 0)", "libc.syscall(438, os.pidfd_open(other), 0, 0)"):
            result = await python(box, LIBC + victim + f"print({call}); os.kill(other, signal.SIGKILL)")
            expect(result.stdout.strip() == b"-1", result)


async def check_kill_everything(sandbox: Sandbox) -> None:
    """A command that kills everything it can reach ends as a result; the box goes on working."""
    async with box_of(sandbox) as box:
        for number in (9, 15, 19):
            result = await python(box, f"import os; os.kill(-1, {number}); os.kill(os.getpid(), 9)")
            expect(not result.ok, result)
            await expect_usable(box)


async def check_init_as_tracer(sandbox: Sandbox) -> None:
    """A command that makes pid 1 its tracer, as a process, an orphan or a thread, confuses nobody."""
    trace = LIBC + "import signal, time\ndef trace():\n    libc.ptrace(0, 0, 0, 0)\n"
    orphans = (
        "for _ in range(10):\n"
        "    if os.fork() == 0:\n"
        "        if os.fork(): os._exit(0)\n"
        "        while os.getppid() != 1: pass\n"
        "        trace(); os.kill(os.getpid(), signal.SIGSTOP)\n"
        "time.sleep(0.2)"
    )
    threads = (
        "import _thread\n_thread.start_new_thread(lambda: (trace(), time.sleep(60)), ())\ntime.sleep(0.2); os._exit(0)"
    )
    async with box_of(sandbox) as box:
        for code in (
            "trace(); os.kill(os.getpid(), signal.SIGSTOP)",
            "trace(); os.execv('/bin/true', ['x'])",
            orphans,
            threads,
        ):
            await python(box, trace + code, Limits(wall_seconds=1))
            await expect_usable(box)


async def check_signals_by_detour(sandbox: Sandbox) -> None:
    """Signals sent through a file's owner do not reach pid 1 either."""
    f_setsig = 10
    code = (
        "import fcntl, socket\n"
        "for number in (9, 19, 11):\n"
        "    a, b = socket.socketpair()\n"
        f"    fcntl.fcntl(a, {f_setsig}, number); fcntl.fcntl(a, fcntl.F_SETOWN, 1)\n"
        "    fcntl.fcntl(a, fcntl.F_SETFL, fcntl.fcntl(a, fcntl.F_GETFL) | fcntl.FASYNC)\n"
        "    b.send(b'x')"
    )
    async with box_of(sandbox) as box:
        await python(box, code)
        await expect_usable(box)


async def check_locked_directory(sandbox: Sandbox) -> None:
    """A command that forbids its directories to everybody does not stop the next one, nor other places."""
    async with box_of(sandbox) as box:
        await shell(box, "mkdir /code/inner; chmod 000 /code/inner /code /tmp")
        await expect_usable(box)
        result = await shell(box, "chmod 755 /code /code/inner && touch /code/inner/file")
        expect(result.ok, result)


async def check_success_after_the_end(sandbox: Sandbox) -> None:
    """A command ended at its deadline never looks like one that succeeded, whatever it exits with."""
    async with box_of(sandbox) as box:
        code = (
            LIBC
            + "import _thread, time\n_thread.start_new_thread(lambda: (libc.ptrace(0, 0, 0, 0), time.sleep(60)), ())\n"
        )
        result = await python(box, code + "time.sleep(0.2); os._exit(0)", Limits(wall_seconds=1))
        expect(result.ok or result.exit_code != 0, result)
