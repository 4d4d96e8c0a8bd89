"""Output whose reader may go away (`rtl-agent grade ... | head`): the rest is dropped, and the exit code stays.

click and rich both end the process with code 1 as soon as a write fails, whatever the command found out. So no write
may fail: below Python's buffers, where everything that is printed passes, a broken pipe is replaced by /dev/null.
"""

import io
import os
import sys
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Pipe(io.FileIO):
    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(data)


def outlive_readers() -> None:
    """From now on nobody notices when the reader of stdout or stderr is gone."""
    sys.stdout = _outliving(sys.stdout)
    sys.stderr = _outliving(sys.stderr)


def _outliving(stream: TextIO) -> TextIO:
    """A stream as it was, over a file that no write to fails. Closed or replaced ones (a test's) are left alone."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    buffered = hasattr(stream.buffer, "raw")  # not with PYTHONUNBUFFERED
    if not isinstance(stream.buffer.raw if buffered else stream.buffer, io.FileIO):
        return stream
    stream.flush()
    raw = _Pipe(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw) if buffered else cast(BinaryIO, raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
