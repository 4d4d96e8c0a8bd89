"""A harness's files -> `Harness`: the services of its compose file, its cocotb version and what it takes to run them.

CVDP starts each service with `-w /code/rundir`, which overrides `working_dir`, and mounts the workspace itself, so
volumes that mention /code are dropped. `image:` and `build:` only choose a container: we bring the tools ourselves.
"""

import re
import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

import yaml

from rtl_agent.problems.cocotb_version import cocotb_version_of
from rtl_agent.problems.problem import BadField, Harness, Needs, Service

COMPOSE_FILE = "docker-compose.yml"
_COMMERCIAL = re.compile(r"__VERIF_EDA_IMAGE__|__LICENSE_NETWORK__|licnetwork")


def read_harness(files: Mapping[str, str]) -> Harness:
    """The harness that these files are. No files at all are the harness of a comprehension problem."""
    services = read_services(files) if files else ()
    return Harness(files=files, services=services, cocotb_version=cocotb_version_of(files))


def needs_of(files: Mapping[str, str]) -> Needs:
    """What it takes to judge an answer with these files."""
    if not files:
        return Needs.TEXT
    if any(_COMMERCIAL.search(text) for text in files.values()):
        return Needs.COMMERCIAL
    return Needs.OPEN_TOOLS


def read_services(files: Mapping[str, str]) -> tuple[Service, ...]:
    """The services in the order of the compose file."""
    if COMPOSE_FILE not in files:
        raise BadField(f"harness.{COMPOSE_FILE}", "is missing")
    try:
        document = _parsed(files[COMPOSE_FILE])
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date of 99 months is a ValueError
        raise BadField(f"harness.{COMPOSE_FILE}", f"is not valid YAML: {error}") from error
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(services, dict) or not services:
        raise BadField(f"harness.{COMPOSE_FILE}", "has no services")
    return tuple(_read_service(str(name), body, files) for name, body in services.items())


@lru_cache(maxsize=128)
def _parsed(compose: str) -> Any:
    """Not to be changed. CVDP's 439 compose files are 81 different ones, and parsing them is most of reading a set."""
    return yaml.safe_load(compose)


def _read_service(name: str, body: Any, files: Mapping[str, str]) -> Service:
    field = f"harness.{COMPOSE_FILE}.services.{name}"
    if not isinstance(body, dict):
        raise BadField(field, "should be a mapping")
    return Service(
        name=name,
        argv=_read_command(body.get("command"), f"{field}.command"),
        env=_read_environment(body, files, field),
        src_writable=_src_is_writable(body.get("volumes"), f"{field}.volumes"),
    )


def _read_command(command: Any, field: str) -> tuple[str, ...]:
    if command is None:
        raise BadField(field, "is missing, and the image's default command is not known")
    if isinstance(command, str):
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise BadField(field, f"cannot be split into words: {error}") from error
    elif isinstance(command, list):
        words = [str(word) for word in command]
    else:
        raise BadField(field, "should be text or a list")
    if not words:
        raise BadField(field, "is empty")
    return tuple(word.replace("$$", "$") for word in words)


def _read_environment(body: Mapping[str, Any], files: Mapping[str, str], field: str) -> dict[str, str]:
    env: dict[str, str] = {}
    names = body.get("env_file") or []
    for entry in names if isinstance(names, list) else [names]:
        name = str(entry.get("path") if isinstance(entry, dict) else entry)
        path = str(PurePosixPath(name))
        if path not in files:
            raise BadField(f"{field}.env_file", f"{name} is not among the harness's files")
        env.update(parse_env_file(files[path]))
    extra = body.get("environment") or {}
    if isinstance(extra, list):
        extra = dict(str(item).split("=", 1) for item in extra if "=" in str(item))
    if not isinstance(extra, dict):
        raise BadField(f"{field}.environment", "should be a mapping or a list")
    env.update({str(key): "" if value is None else str(value) for key, value in extra.items()})
    return env


def parse_env_file(text: str) -> dict[str, str]:
    """KEY = value lines; spaces around `=` do not count, and the last of two equal keys wins."""
    env: dict[str, str] = {}
    for line in text.splitlines():
        line = line.strip().removeprefix("export ")
        if not line or line.startswith("#") or "=" not in line:
            continue
        key, value = (part.strip() for part in line.split("=", 1))
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        else:
            value = value.split(" #", 1)[0].rstrip()
        env[key] = value
    return env


def _src_is_writable(volumes: Any, field: str) -> bool:
    """Whether /src is mounted for writing. A harness that mounts no /src gets it read-only."""
    if volumes is not None and not isinstance(volumes, list):
        raise BadField(field, "should be a list")
    for volume in volumes or []:
        if isinstance(volume, dict):
            target, read_only = str(volume.get("target", "")), bool(volume.get("read_only"))
        else:
            _, _, rest = str(volume).partition(":")
            target, _, mode = rest.partition(":")
            read_only = "ro" in mode.split(",")
        if target.rstrip("/") == "/src":
            return not read_only
    return False
