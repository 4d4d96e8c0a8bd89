"""The init's code as the box's own Python compiles it: compiling in each box would cost it 4 ms of CPU."""

import functools
import subprocess
from pathlib import Path

from rtl_agent.sandbox import _inside
from rtl_agent.sandbox.protocol import SandboxError

MODULES = ("wire", "files", "program", "cpu", "command", "main")  # each after those it imports
COMPILE = """
import marshal, sys
codes = []
for name, path in zip(sys.argv[1::2], sys.argv[2::2]):
    with open(path, "rb") as file:
        codes.append((name, compile(file.read(), name, "exec", dont_inherit=True, optimize=0)))
sys.stdout.buffer.write(marshal.dumps(codes))
"""
# Runs in the box. The last module is the program; modules found in sys.modules need no files and no parent packages.
START = """
import marshal, os, sys
for name, code in marshal.loads(os.read({fd}, {size})):
    module = sys.modules[name] = type(sys)(name)
    exec(code, module.__dict__)
module.main(sys.argv[1:])
"""


@functools.cache
def compiled(python: Path) -> bytes:
    """Compiled outside the box: `python` is trusted, it runs the init."""
    folder = Path(_inside.__file__).parent
    names = [part for name in MODULES for part in (f"{_inside.__name__}.{name}", str(folder / f"{name}.py"))]
    try:
        made = subprocess.run(
            [python, "-I", "-S", "-c", COMPILE, *names], capture_output=True, check=True, timeout=60, env={}
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", b"") or b"").decode(errors="replace")
        raise SandboxError(f"{python} cannot compile the box's init: {error} {said}") from error
    return made.stdout
