"""The scripts of a harness environment start the Python beside them, wherever the environment is.

pip writes the place where an environment was built into its scripts. It is renamed when it is complete, and a box has
it at yet another place.
"""

import re
from pathlib import Path

# pip's first line, or the three that it writes where the path is too long for one or has a space in it.
_PIPS_START = re.compile(rb"#!(?:/bin/sh\n'''exec' [^\n]*\n' '''|[^\n]*/python[\d.]*)\n")
_START = b"""\
#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")/python3" "$0" "$@"
' '''
"""


def relocate(environment: Path, home: Path) -> None:
    """Mend every file of `environment` that names another place; `home` is where it will be."""
    # With its path, or, as in the prompt of `activate`, without.
    elsewhere = re.compile(rb"(" + re.escape(bytes(home.parent)) + rb"/)?\.building-[\w.-]+")
    for file in (environment / "pyvenv.cfg", *sorted((environment / "bin").iterdir())):
        if file.is_symlink() or not file.is_file():
            continue
        old = file.read_bytes()
        start = _PIPS_START.match(old)
        new = _START + old[start.end() :] if start else old
        new = elsewhere.sub(lambda place: bytes(home) if place[1] else home.name.encode(), new)
        if new != old:
            _rewrite(file, new)


def _rewrite(file: Path, content: bytes) -> None:
    """At once: another process may be starting it."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_bytes(content)
    beside.chmod(file.stat().st_mode & 0o777)
    beside.replace(file)
