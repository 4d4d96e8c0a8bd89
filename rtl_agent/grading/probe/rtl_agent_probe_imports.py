"""Keeps what a design writes from being imported, or run as the next simulation.

RTL can create files wherever its process may, and cocotb puts the current directory first on sys.path: a design that
writes `difflib.py` there has its text run as Python by the next lazy import. It can also overwrite a compiled
simulation that the harness runs a second time, and such a file may load a native module. So:

* directories outside the Python installation offer only the source files that they held when first looked at, and
  only unchanged: $dumpfile replaces files without write permission where it may write to their directory;
* before each simulation pytest's process compares those directories and the compiled file with what it saw before;
* a simulator imports the harness from memory: its files cannot be opened while a design runs.
"""

import importlib.machinery
import importlib.util
import os
import sys

import rtl_agent_probe_seal
from rtl_agent_probe_seal import HARNESS

PROBE = os.path.dirname(os.path.abspath(__file__))
_IMPORTABLE = (".py", ".pyc", ".so", ".pth", ".zip", ".egg")


_known = 0  # directories that were looked at


def install(files=None):
    """Route every import from outside the Python installation through frozen directories; also renamed modules.

    With `files`, path -> source or code, the harness is imported from these.
    """
    sys.path_hooks.insert(0, lambda path: _finder_for(path, files))
    sys.meta_path.append(_RunnerAlias())
    return Guard()


def look_again():
    """At directories outside of the installation, whatever was seen in them before the job."""
    global _known
    if len(sys.path_importer_cache) != _known:  # none has come since a warm process was here: each costs a page
        for path in [path for path in sys.path_importer_cache if not is_trusted(path)]:
            del sys.path_importer_cache[path]  # the others stay: they would list site-packages anew
        _known = len(sys.path_importer_cache)


def is_trusted(path):
    """Part of the Python installation or of this probe: read-only in the sandbox."""
    roots = (sys.prefix, sys.base_prefix, sys.exec_prefix, PROBE)
    path = os.path.abspath(path)
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _finder_for(path, files):
    if is_trusted(path):
        raise ImportError("left to the ordinary path hooks")
    path = os.path.abspath(path)
    inside = path == HARNESS or path.startswith(HARNESS + "/")
    if files is not None and (inside or any(name.startswith(path + "/") for name in files)):
        return _MemoryDirectory(path, files)
    return _FrozenDirectory(path)


class _MemoryDirectory:
    """Modules of the harness in a simulator's Python."""

    def __init__(self, path, files):
        self._path, self._files = path, files

    def find_spec(self, fullname, target=None):
        stem = os.path.join(self._path, fullname.rpartition(".")[2])
        for origin, is_package in ((f"{stem}/__init__.py", True), (f"{stem}.py", False)):
            if origin in self._files:
                loader = _MemoryLoader(origin, self._files, is_package)
                spec = importlib.util.spec_from_loader(fullname, loader, origin=origin, is_package=is_package)
                spec.has_location = True
                if is_package:
                    spec.submodule_search_locations[:] = [stem]
                return spec
        return None

    def invalidate_caches(self):
        pass


class _MemoryLoader:
    """Assertions are rewritten, as cocotb has pytest do it for every module that it loads from a file."""

    def __init__(self, path, files, is_package):
        self._path, self._files, self._is_package = path, files, is_package

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        import rtl_agent_probe_checks
        import rtl_agent_warm_code

        code = None
        if rtl_agent_probe_checks.WANTED in os.environ:
            setattr(module, rtl_agent_probe_checks.NAME, rtl_agent_probe_checks)
            code = rtl_agent_warm_code.counted(self._files).get(self._path)
        if code is None:
            code = rtl_agent_warm_code.rewritten(self._path, self._files[self._path])
        exec(code, module.__dict__)  # noqa: S102 - it is trusted

    def get_source(self, fullname=None):
        """For tracebacks, and for whoever inspects a test."""
        return importlib.util.decode_source(self._files[self._path])

    def get_filename(self, fullname=None):
        return self._path

    def is_package(self, fullname=None):
        return self._is_package


class _SourceOnly(importlib.machinery.SourceFileLoader):
    """Compiles the text: a .pyc file beside it may be a design's."""

    def path_stats(self, path):
        raise OSError("bytecode is not looked for")


class _FrozenDirectory:
    """The source files that a directory held at first sight."""

    def __init__(self, path):
        self._inner = importlib.machinery.FileFinder(path, (_SourceOnly, [".py"]))
        self._path = path
        self._seen = {name: _identity(os.path.join(path, name)) for name in _names(path)}

    def find_spec(self, fullname, target=None):
        tail = fullname.rpartition(".")[2]
        source = tail + ".py"
        if source in self._seen and _identity(os.path.join(self._path, source)) != self._seen[source]:
            raise ImportError(f"{source} was changed while the design was simulated")
        if tail in self._seen or source in self._seen:
            return self._inner.find_spec(fullname, target)
        return None

    def invalidate_caches(self):
        self._inner.invalidate_caches()


def _names(path):
    try:
        return os.listdir(path)
    except OSError:
        return []


class Guard:
    """Notices what simulations left behind; lives in pytest's process."""

    def __init__(self):
        self._directories = {}  # path -> the importable names in it when it was first seen
        self._compiled = {}  # compiled simulation -> its identity when it was first run
        self._harness = {}  # file of the harness -> its identity before the first simulation
        self._sealed = False

    def forget(self, compiled):
        """A compiler is about to write this file anew."""
        self._compiled.pop(compiled, None)

    def changed(self, cwd, simulator_args):
        """Paths that something else than the harness's own tools changed since the last look."""
        found = [] if rtl_agent_probe_seal.is_closed() else self.changed_harness()
        seen = {os.path.abspath(cwd or "."), *(path for path in sys.path if path and not is_trusted(path))}
        for directory in seen - {HARNESS}:
            now = {
                name: _identity(os.path.join(directory, name), changes=False)
                for name in _names(directory)
                if _importable(name)
            }
            before = self._directories.setdefault(directory, now)
            found += [os.path.join(directory, name) for name in now if before.get(name) != now[name]]
        for argument in simulator_args:
            if argument.endswith(".vvp"):
                now = _identity(argument)
                if self._compiled.setdefault(argument, now) != now:
                    found.append(argument)
        return found

    def changed_harness(self):
        """Files of the harness that are not what they were: it may read its expectations from any of them."""
        found = []
        for directory, below, names in os.walk(HARNESS):
            below[:] = [name for name in below if name not in (".pytest_cache", "__pycache__")]  # pytest's own
            for path in (os.path.join(directory, name) for name in names):
                now = _identity(path, changes=False)  # closing a file changes its mode, and so this time
                if not self._sealed:
                    self._harness[path] = now
                elif self._harness.get(path, now) != now:
                    found.append(path)
        found += [path for path in self._harness if not os.path.lexists(path)]
        self._sealed = True
        return found

    def trusted_first(self, paths):
        """Python imports `encodings` before any hook is in place: the installation must come before /src."""
        paths = [path for path in [*sys.path, *paths] if path]
        return list(dict.fromkeys(sorted(paths, key=lambda path: not is_trusted(path))))


def _importable(name):
    return name.endswith(_IMPORTABLE)


def _identity(path, changes=True):
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns if changes else 0)


class _RunnerAlias:
    """`cocotb.runner` of 1.x is `cocotb_tools.runner` of 2.x: whichever a harness asks for, it gets what there is."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname in ("cocotb.runner", "cocotb_tools.runner", "cocotb_tools"):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname == "cocotb_tools")
        return None

    def create_module(self, spec):
        if spec.name == "cocotb_tools":
            return None
        other = "cocotb_tools.runner" if spec.name == "cocotb.runner" else "cocotb.runner"
        __import__(other)
        return sys.modules[other]

    def exec_module(self, module):
        pass
