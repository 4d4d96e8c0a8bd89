"""Which files of a workspace are the design, and whether a name that a model gave is one of its files."""

from pathlib import PurePosixPath

from rtl_agent.envs.agentic.workspace import CODE, Workspace

_MOST_FILES = 200
_DESIGN = (".sv", ".v")


class WrongArgument(ValueError):
    """A call that cannot be run; the text is for the model."""


def path_in_workspace(name: str) -> str:
    """The absolute path: no tool that it is handed to can take it for an option."""
    if not name or "\0" in name or len(name) > 500:
        raise WrongArgument("a file's path is missing or is no path")
    path = PurePosixPath(CODE) / name
    if ".." in path.parts or not path.is_relative_to(CODE):
        raise WrongArgument(f"{name!r} is not a path below {CODE}")
    return str(path)


async def design_sources(workspace: Workspace, seconds: float) -> list[str]:
    """The design files in rtl/, packages first, as later files use them."""
    names = [part for suffix in _DESIGN for part in ("-o", "-name", f"*{suffix}")][1:]
    argv = ["find", f"{CODE}/rtl", "-type", "f", "(", *names, ")", "-print0"]
    found = (await workspace.run(argv, seconds=seconds)).stdout.decode(errors="replace").split("\0")
    sources = sorted(path for path in found if path.startswith(f"{CODE}/rtl/") and path.endswith(_DESIGN))
    return sorted(sources, key=lambda path: not PurePosixPath(path).stem.endswith(("pkg", "package")))[:_MOST_FILES]
