"""What a job can leave behind in a warm box, files and processes, and how it goes before the next one.

The grader says which places can be written: the list that the box was made from, so that none is forgotten. Whatever
cannot be put back as it was raises, and the grader takes another box.
"""

import os
import signal
import stat
import time
from contextlib import suppress

_INIT = 1
_OF_BOXES = range(49000, 49900)  # uids, where a box has no pid namespace: other processes are not ours to signal
_PR_SET_CHILD_SUBREAPER = 36
_MOST_PIDS = 20_000  # of one job; 5 to 10 for each simulation
_ROUNDS = 50
_PATIENCE = 5.0  # seconds, with what has been told to end

_alone = False  # all that can be signalled is a job's, but this process and its simulator: by pid namespace or by uid


class Unclean(Exception):
    """The box is not as it was before the job."""


class Places:
    """The writable directories, as they are when this is made: before anything was written."""

    def __init__(self, modes):
        self._modes = {path: modes[path] for path in sorted(modes)}
        self._kept = {}  # directories on the way to what is mounted inside -> mode; None for the mounted itself
        for path in self._modes:
            self._kept.update(_tree(path, os.lstat(path).st_dev))

    def clear(self):
        """Empty all of them, then look whether they are."""
        for path in reversed(self._modes):  # a place within another one first
            os.chmod(path, 0o700)
            _empty(path, self._kept)
        for path, mode in self._modes.items():
            os.chmod(path, mode)
            os.utime(path)
            left = [name for name in os.listdir(path) if os.path.join(path, name) not in self._kept]
            if left or stat.S_IMODE(os.lstat(path).st_mode) != mode:
                raise Unclean(f"{path} is not empty: {left[:3]}")


def _tree(directory, device):
    for entry in os.scandir(directory):
        found = entry.stat(follow_symlinks=False)
        ours = stat.S_ISDIR(found.st_mode) and found.st_dev == device
        yield entry.path, stat.S_IMODE(found.st_mode) if ours else None
        if ours:
            yield from _tree(entry.path, device)


def _empty(directory, kept):
    for entry in list(os.scandir(directory)):
        path = entry.path
        if path in kept and kept[path] is None:
            continue
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(path)
            continue
        os.chmod(path, 0o700)  # /src of a read-only service is left without permission to write
        _empty(path, kept)
        if path in kept:
            os.chmod(path, kept[path])
        else:
            os.rmdir(path)


def adopt_orphans():
    """Whatever a job starts and leaves becomes a child of this process, not of the box's init, and can be reaped."""
    global _alone
    import ctypes

    if os.getuid() == 0 or not (os.getppid() == _INIT or os.getuid() in _OF_BOXES):
        raise OSError("not in a box: processes are ended by their numbers, and would be somebody else's")
    _alone = True
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("orphans cannot be adopted")


def end_processes_since(job):
    """Kill and reap every process that was started after `job`, a process that has been reaped.

    There is no /proc to list them in, but pids are given out in turn: everything that the job started is between its
    own pid and the next one. 0.2 ms of CPU for an ordinary job, which leaves nothing.
    """
    if not _alone:
        raise Unclean("orphans were not adopted")
    begin = job
    for _ in range(_ROUNDS):
        end = _next_pid()
        if not 0 <= end - begin <= _MOST_PIDS:
            raise Unclean(f"pids from {begin} to {end}: too many to look through")
        left = [pid for pid in range(begin + 1, end) if _kill(pid)]
        if not left:
            return
        for pid in left:
            _reap(pid)
        begin = job  # what they started meanwhile comes after `end`, and orphans are ours only now
    raise Unclean("processes that a job started cannot be ended")


def _next_pid():
    """By starting a thread, which takes a number of the same sequence and costs a fiftieth of a fork.

    Until it is gone: on a busy machine it may be there for a while, and the next job could count it.
    """
    import _thread

    found, done = [], _thread.allocate_lock()
    done.acquire()

    def look():
        found.append(_thread.get_native_id())
        done.release()

    _thread.start_new_thread(look, ())
    done.acquire()
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            os.kill(found[0], 0)
        except ProcessLookupError:
            return found[0]
        os.sched_yield()
    raise Unclean("a thread does not end")


def _kill(pid):
    """Whether there was such a process of ours, dead but not reaped ones included."""
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # another box's, where there is no pid namespace
        return False
    return True


def _reap(pid):
    """A process is ours to reap once its parent is gone, which was killed too."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
            return
        if not _kill(pid):
            return
        time.sleep(0.001)
    raise Unclean(f"process {pid} does not end")
