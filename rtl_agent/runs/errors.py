"""What can go wrong with a run directory, in sentences for the person who started the run."""

import errno
from pathlib import Path


class RunError(Exception):
    """A run directory cannot be used as asked; the message says why and what to do."""


_WHAT_TO_DO = {
    errno.ENOSPC: "the disk is full: free some space and resume, what was written before is kept",
    errno.EDQUOT: "the disk quota is used up: free some space and resume, what was written before is kept",
    errno.EFBIG: "the file would be larger than this system allows; what was written before is kept",
    errno.EACCES: "permission denied: choose a folder that you may write to",
    errno.EPERM: "permission denied: choose a folder that you may write to",
    errno.EROFS: "the file system is read-only: choose a folder that you may write to",
    errno.ENOTDIR: "a part of the path is a file, not a folder: choose another path",
}


def cannot(doing: str, path: Path, error: OSError) -> RunError:
    """`cannot("write", path, error)`: the sentence for an error of the operating system."""
    cause = _WHAT_TO_DO.get(error.errno or 0, error.strerror or str(error))
    return RunError(f"cannot {doing} {path}: {cause}")
