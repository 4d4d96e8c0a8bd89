"""A server of socketserver's in a thread of its own, for the length of a test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer

LOOK_AGAIN = 0.01  # seconds until it sees that it is to end; socketserver's own half second was a minute of all tests


@contextmanager
def serving_in_a_thread(server: BaseServer) -> Iterator[None]:
    """Serve until the block is left; then its socket is closed too."""
    thread = threading.Thread(target=server.serve_forever, args=(LOOK_AGAIN,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
