"""Lines kept as gzip members, one each: a file that `zcat` reads, and any line of which can be read by itself.

    rollouts/step_000012.jsonl.gz      gzip(line 0) gzip(line 1) ...

Every reader takes both forms, told apart by gzip's first two bytes, which no JSON begins with. What is unpacked is
bounded: a few kilobytes from anywhere can claim to be gigabytes.
"""

import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO

SUFFIX = ".gz"
MAGIC = b"\x1f\x8b"
MOST_LINE = 128 << 20  # an answer of ten megabytes is seldom longer, in JSON; what is longer is passed over
_LEVEL = 6
_GZIP = zlib.MAX_WBITS | 16
_PIECE = 4 << 10  # of a member at a time: deflate makes at most a thousand times as much of it


def pack(line: bytes) -> bytes:
    """The same line gives the same bytes: no time is kept in them."""
    return gzip.compress(line, _LEVEL, mtime=0)


def is_packed(data: bytes) -> bool:
    return data.startswith(MAGIC)


def unpack(stored: bytes, most: int = MOST_LINE) -> bytes | None:
    """A line as it was written, packed or not; None for a member that is damaged, or longer than a line may be."""
    if not is_packed(stored):
        return stored
    reader = zlib.decompressobj(_GZIP)
    try:
        line = reader.decompress(stored, most + 1)
    except zlib.error:
        return None
    return line if reader.eof and not reader.unused_data and len(line) <= most else None


def members(file: BinaryIO, most: int = MOST_LINE) -> Iterator[bytes | int]:
    """Whole members as they are stored; of one that is too long to hold a line only its length.

    What is torn, or is not gzip, ends the file: there is no way to find where the next member begins.
    """
    rest = b""
    while True:
        reader, stored, length, unpacked = zlib.decompressobj(_GZIP), bytearray(), 0, 0
        while not reader.eof:
            piece = rest or file.read(_PIECE)
            rest = b""
            if not piece:
                return
            try:
                unpacked += len(reader.decompress(piece))
            except zlib.error:
                return
            used = piece[: len(piece) - len(reader.unused_data)]
            rest, length = reader.unused_data, length + len(used)
            if max(length, unpacked) <= most:
                stored += used
        yield bytes(stored) if max(length, unpacked) <= most else length
