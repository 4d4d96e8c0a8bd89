"""The key of a server: from the environment or a file, never from the command line, which everybody can read."""

import os
import secrets
from collections.abc import MutableMapping
from pathlib import Path

from rtl_agent.grading.executors.http_executor import KEY_VARIABLE
from rtl_agent.web.rules import is_loopback

SHORTEST, SHORTEST_ELSEWHERE = 16, 32  # characters; the second where other machines can try


class BadKey(Exception):
    """There is no key, or none that can guard a server; a sentence says what to do."""


def find_key(environ: MutableMapping[str, str], file: Path | None, host: str) -> tuple[str, str]:
    """The key, and where it is for those who need it. The variable leaves the environment: nobody inherits it."""
    given = environ.pop(KEY_VARIABLE, "")
    if file is not None:
        return _checked(_read(file), f"the key in {file}", host), str(file)
    if given:
        return _checked(given.strip(), f"the key in {KEY_VARIABLE}", host), f"${KEY_VARIABLE}"
    if not is_loopback(host):
        raise BadKey(
            f"{host} can be reached from other machines: give a key of {SHORTEST_ELSEWHERE} characters or more in a "
            f"file (--key-file) or in {KEY_VARIABLE}; `openssl rand -hex 32` makes one"
        )
    made = _state_folder() / "grade-server.key"
    if not made.exists():
        _write(made, secrets.token_urlsafe(32))
    return _checked(_read(made), f"the key in {made}", host), str(made)


def readable_by_others(file: Path) -> bool:
    return bool(file.stat().st_mode & 0o077)


def _checked(key: str, what: str, host: str) -> str:
    shortest = SHORTEST if is_loopback(host) else SHORTEST_ELSEWHERE
    if len(key) < shortest:
        where = "" if is_loopback(host) else f" where other machines can reach the server ({host})"
        raise BadKey(f"{what} has {len(key)}: it must have {shortest} characters or more{where}")
    if not all("!" <= mark <= "~" for mark in key):
        raise BadKey(f"{what} has a space or a character outside ASCII, which no HTTP header can hold")
    return key


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadKey(f"the key file {file} cannot be read: {error}") from error


def _write(file: Path, key: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return  # another server made it now
    except OSError as error:
        raise BadKey(f"the key file {file} cannot be written: {error.strerror}; give one with --key-file") from error
    with os.fdopen(descriptor, "w") as stream:
        stream.write(key + "\n")


def _state_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "rtl-agent"
