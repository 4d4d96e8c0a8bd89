"""How an answer is judged: the hidden files and the services that run them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class CocotbVersion(StrEnum):
    """The cocotb generation a harness was written for; its value is the version that we pin."""

    V1 = "1.9.2"
    V2 = "2.0.1"


@dataclass(frozen=True)
class Service:
    """One entry of a compose file: a command that must exit with 0."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    src_writable: bool  # the compose file mounts ./src without `:ro`


@dataclass(frozen=True)
class Harness:
    """Files that a model never sees, and the services of the compose file among them, in order."""

    files: Mapping[str, str]
    services: tuple[Service, ...]
    cocotb_version: CocotbVersion
