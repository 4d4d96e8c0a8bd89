"""Harness files compiled once: a warm process keeps their code, with assertions rewritten, for the processes it forks.

Rewriting and compiling a harness takes about as long as simulating a small design. Nothing is executed here: the code
objects are, in the forked process that needs them.
"""

import ast
from contextlib import suppress

_MOST = 512

_code = {}  # (path, text) -> code
_counted = {}  # all modules of a harness -> path -> code


def rewritten(path, source):
    """The code of a module, as pytest's import hook would make it."""
    from _pytest.assertion.rewrite import rewrite_asserts

    key = (path, source)  # hashing by sha256 took longer than comparing does
    if key not in _code:
        if len(_code) >= _MOST:
            _code.clear()
        tree = ast.parse(source, filename=path)
        rewrite_asserts(tree, source, path, None)
        _code[key] = compile(tree, path, "exec", dont_inherit=True)
    return _code[key]


def counted(files):
    """Path -> code of the harness's modules that compile, with checks that are counted (rtl_agent_probe_sites.py)."""
    import rtl_agent_probe_sites

    sources = {path: source for path, source in files.items() if path.endswith(".py")}
    key = tuple(sorted(sources.items()))
    if key not in _counted:
        if len(_counted) >= _MOST:
            _counted.clear()
        trees = {}
        for path, source in sources.items():
            with suppress(SyntaxError, ValueError, RecursionError):
                trees[path] = ast.parse(source, filename=path)
        code = {}
        with suppress(RecursionError):
            flow = rtl_agent_probe_sites.Flow(trees.values())
            for path, tree in trees.items():
                rtl_agent_probe_sites.instrument(tree, flow, sources[path], path)
                code[path] = compile(tree, path, "exec", dont_inherit=True)
        _counted[key] = code
    return _counted[key]


def forget(path):
    for key in [key for key in _code if key[0] == path]:
        del _code[key]


def compile_ahead(files, counts=False):
    """Path -> source; what does not compile is left to the import to say."""
    if counts:
        counted(files)
        return
    for path, source in files.items():
        if path.endswith(".py"):
            with suppress(SyntaxError, ValueError, RecursionError):
                rewritten(path, source)
