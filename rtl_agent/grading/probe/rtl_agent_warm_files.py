"""A job's files in a warm box, which is empty: everything but the design, and then the design."""

import os

DIRECTORIES = ("/code/docs", "/code/rtl", "/code/verif", "/code/rundir", "/rundir/harness")


def lay_out(files, *, src_writable):
    """Everything but the design. Harness files are not writable, nor is /src where the service says so."""
    for directory in DIRECTORIES:
        os.makedirs(directory, exist_ok=True)
    for path, text in files.items():
        inside = f"/{path}" if path.startswith("src/") else f"/code/{path}"
        write(inside, text, 0o444 if path.startswith("src/") else 0o644)
    if not src_writable:
        _protect("/src")


def put_design(files):
    """The design; then nothing but the run directory can be written: a harness may read expectations from the rest."""
    for path, text in files.items():
        write(f"/code/{path}", text)
    for directory in ("/code/docs", "/code/rtl", "/code/verif"):
        _protect(directory)


def _protect(top):
    for directory, _, names in os.walk(top):
        os.chmod(directory, 0o555)
        for name in names:
            os.chmod(os.path.join(directory, name), 0o444)


def write(path, text, mode=0o644):
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        descriptor = os.open(path, flags, mode)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, flags, mode)
    try:
        data = memoryview(text.encode(errors="replace"))
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)
