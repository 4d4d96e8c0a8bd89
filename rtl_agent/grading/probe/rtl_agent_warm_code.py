"""Harness files compiled once: a warm process keeps their code, with assertions rewritten, for the processes it forks.

Rewriting and compiling a harness takes about as long as simulating a small design. Nothing is executed here: the code
objects are, in the forked process that needs them.
"""

import ast
from contextlib import suppress

_MOST = 512

_code = {}  # (path, text) -> code


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


def forget(path):
    for key in [key for key in _code if key[0] == path]:
        del _code[key]


def compile_ahead(files):
    """Path -> source; what does not compile is left to the import to say."""
    for path, source in files.items():
        if path.endswith(".py"):
            with suppress(SyntaxError, ValueError, RecursionError):
                rewritten(path, source)
