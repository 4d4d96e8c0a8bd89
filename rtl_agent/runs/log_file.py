"""Python's logging into a run's logs.log."""

import logging
import os
from pathlib import Path

from rtl_agent.runs.errors import cannot

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class LogFile(logging.Handler):
    """One record, one write. A record that cannot be written never stops the run: logging reports it on stderr."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(_FORMAT))
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise cannot("write", path, error) from error

    def emit(self, record: logging.LogRecord) -> None:
        try:
            os.write(self._descriptor, self.format(record).encode(errors="backslashreplace") + b"\n")
        except Exception:  # logging's own contract: a handler never raises
            self.handleError(record)

    def close(self) -> None:
        self.acquire()
        try:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
        finally:
            self.release()
        super().close()
