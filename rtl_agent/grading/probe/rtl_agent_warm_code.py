"""Harness files compiled once: a warm process keeps their code, with assertions rewritten, for the processes it forks.

Rewriting and compiling a harness takes about as long as simulating a small design. Nothing is executed here: the code
objects are, in the forked process that needs them.
"""

import ast
import hashlib
import os

_MOST = 512

_code = {}  # digest of path and text -> code


def rewritten(path, source):
    """The code of a module, as pytest's import hook would make it."""
    from _pytest.assertion.rewrite import rewrite_asserts

    key = hashlib.sha256(path.encode() + b"\0" + source).digest()
    if key not in _code:
        if len(_code) >= _MOST:
            _code.clear()
        tree = ast.parse(source, filename=path)
        rewrite_asserts(tree, source, path, None)
        _code[key] = compile(tree, path, "exec", dont_inherit=True)
    return _code[key]


def rewritten_directories(directories):
    """Path -> code for the Python files in these directories; what does not compile is left to the import to say."""
    found = {}
    for directory in directories:
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for path in (os.path.join(directory, name) for name in names if name.endswith(".py")):
            try:
                with open(path, "rb") as stream:
                    found[path] = rewritten(path, stream.read())
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue
    return found


def give_to_pytest(found):
    """Let the import hook of pytest take this code instead of compiling."""
    import _pytest.assertion.rewrite as rewrite

    compile_anew = rewrite._rewrite_test

    def take(path, config):
        code = found.get(str(path))
        return (os.stat(path), code) if code is not None else compile_anew(path, config)

    rewrite._rewrite_test = take
