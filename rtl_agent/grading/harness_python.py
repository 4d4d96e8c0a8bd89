"""What can be said of a harness by reading its commands and its Python, without running either.

Whether a service runs pytest, whether its tests start a simulation or depend on chance, whether wave files matter to
it, and whether its file is so plain that calling its functions is all that pytest would do.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from rtl_agent.problems import Problem, Service

_CHANCE = re.compile(r"\b(random|secrets|uuid|urandom|time|datetime|hash|id|numpy|np)\b")
_WAVES = re.compile(r"\.(fst|vcd)\b")
_FLAGS = re.compile(r"-[svq]+|--log-cli-level=\w+|--color=\w+")
_CONFIGURATION = ("conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", ".pytest.ini")
_WITHOUT_A_SESSION = ("mark", "raises", "approx", "fail")
_OF_A_SESSION = ("fixture", "usefixtures", "hookimpl", "importorskip", "SkipTest", "__test__")
_FIXTURES = re.compile(r"^(setup|teardown)_(module|function|method|class)$|^pytest")


def uses_pytest(service: Service) -> bool:
    return any("pytest" in word for word in service.argv)


def runs_python(service: Service) -> bool:
    return any("pytest" in word or "python" in word for word in service.argv)


def simulates(problem: Problem, service: Service) -> bool:
    """Whether the Python files that a service's command names start cocotb's runner."""
    return "get_runner" in named_text(problem, service)


def depends_on_chance(problem: Problem, service: Service) -> bool:
    """Whether the items of a service may differ from job to job: what it runs draws numbers, looks at the clock, or
    imports other files of the harness, which may."""
    text = named_text(problem, service)
    own = {PurePosixPath(path).stem for path in problem.harness.files if path.endswith(".py")}
    imported = set(re.findall(r"\bimport\s+(\w+)|\bfrom\s+(\w+)", text))
    return bool(_CHANCE.search(text)) or any(name in own for pair in imported for name in pair) or not text


def named_text(problem: Problem, service: Service) -> str:
    """The Python files that a service's command names."""
    named = re.findall(r"/src/(\S+?\.py)", " ".join(service.argv))
    return "\n".join(problem.harness.files.get(f"src/{name}", "") for name in named)


def handles_waves(problem: Problem) -> bool:
    """Whether the harness moves or reads wave files, so that they must be there."""
    return any(_names_waves(text) for path, text in problem.harness.files.items() if path.endswith(".py"))


@lru_cache(maxsize=512)
def _names_waves(text: str) -> bool:
    return _WAVES.search(text) is not None


def pytest_command(service: Service) -> list[str] | None:
    """The service's pytest command as words, out of `sh -c` where it stands in one; None for anything else."""
    argv = list(service.argv)
    if len(argv) == 3 and argv[0] in ("sh", "/bin/sh") and argv[1] == "-c":
        command = re.sub(r"^\s*pip3? install [\w.=\- ]+&&\s*", "", argv[2])
        if re.search(r"[;&|<>$`\"'\\(){}*?\[\]~#\n]", command):
            return None
        argv = command.split()
    return argv if argv and argv[0] == "pytest" else None


def plain_file(problem: Problem, service: Service) -> str | None:
    """The harness file, as the box has it, if calling its functions is all that pytest would do."""
    argv = pytest_command(service)
    if argv is None:
        return None
    files = list(_files(argv))
    if len(files) != 1 or files[0] is None:
        return None
    if any(path.endswith(_CONFIGURATION) for path in problem.harness.files):
        return None
    text = problem.harness.files.get(files[0].removeprefix("/"))
    return files[0] if text is not None and is_plain(text) else None


def _files(argv: Sequence[str]) -> Iterator[str | None]:
    """The arguments that name files; None for an option whose meaning we do not take over."""
    words = iter(argv[1:])
    for word in words:
        if word == "-o":
            yield from () if next(words, "").startswith("cache_dir=") else (None,)
        elif not _FLAGS.fullmatch(word):
            yield word if re.fullmatch(r"/src/[\w/.-]+\.py", word) else None


@lru_cache(maxsize=1024)
def is_plain(text: str) -> bool:
    """Only module-level test functions whose arguments all come from parametrize marks of two arguments and ids."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return False
        if _needs_a_session(node):
            return False
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = [(alias.asname or alias.name).split(".")[0] for alias in node.names]
            if any(name.startswith("test") or name.startswith("Test") for name in bound):
                return False
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            return False
        if isinstance(node, ast.Assign | ast.AnnAssign) and any(map(_is_special, _targets(node))):
            return False
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _FIXTURES.match(node.name):
            return False
    top_level = {id(node) for node in tree.body}
    tests = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
    ]
    return all(isinstance(node, ast.FunctionDef) and id(node) in top_level and _is_plain_test(node) for node in tests)


def _needs_a_session(node: ast.AST) -> bool:
    """What of pytest only pytest can do, under any name: marks of parameters, skips, expected failures, `__test__`."""
    match node:
        case ast.Import(names=names):
            return any(one.asname and _is_pytest(one.name) for one in names)
        case ast.ImportFrom(module=module):
            return _is_pytest(module or "")
        case ast.Attribute(value=ast.Name(id="pytest"), attr=attribute):
            return attribute not in _WITHOUT_A_SESSION
        case ast.Attribute(attr=attribute):
            return attribute in _OF_A_SESSION
        case ast.Name(id=name) | ast.Constant(value=name):
            return name in _OF_A_SESSION
    return False


def _is_pytest(module: str) -> bool:
    return module.partition(".")[0] in ("pytest", "_pytest", "unittest")


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_special(name: str) -> bool:
    return name.startswith(("test", "pytest", "Test"))


def _is_plain_test(node: ast.FunctionDef) -> bool:
    given: set[str] = set()
    for decorator in node.decorator_list:
        parametrized = _parametrized(decorator)
        if parametrized is None:
            return False
        given |= parametrized
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
        return False
    optional = len(arguments.defaults)
    names = [argument.arg for argument in arguments.args]
    required = set(names[: len(names) - optional] if optional else names)
    # An argument with a default is no fixture for pytest, unless a mark names it: then pytest refuses the mark.
    return required == given and not any(isinstance(child, ast.Yield | ast.YieldFrom) for child in ast.walk(node))


def _parametrized(decorator: ast.expr) -> set[str] | None:
    """The names that `@pytest.mark.parametrize("a, b", ...)` gives; None for any other decorator."""
    if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.parametrize"):
        return None
    if len(decorator.args) != 2 or any(keyword.arg != "ids" for keyword in decorator.keywords):
        return None
    names = decorator.args[0]
    if isinstance(names, ast.Constant) and isinstance(names.value, str):
        return {name.strip() for name in names.value.split(",") if name.strip()}
    if isinstance(names, ast.List | ast.Tuple) and all(isinstance(item, ast.Constant) for item in names.elts):
        return {str(item.value) for item in names.elts if isinstance(item, ast.Constant)}
    return None
