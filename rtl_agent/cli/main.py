"""The command line: `rtl-agent`. Thin: each command is a module beside this one."""

import sys

import typer

from rtl_agent import __version__
from rtl_agent.cli import (
    bench,
    console,
    demo,
    doctor,
    eval,
    grade,
    play,
    pretrain,
    problems,
    report,
    runs,
    serve,
    train,
)
from rtl_agent.cli.pipes import outlive_readers
from rtl_agent.grading import CannotGrade, ExecutorFault
from rtl_agent.problems import BadRecord, NoSuchProblems
from rtl_agent.registry import PluginError, UnknownName
from rtl_agent.runs import RunError
from rtl_agent.sandbox import SandboxError
from rtl_agent.toolchain import ToolMissing

app = typer.Typer(
    name="rtl-agent",
    help="Grade the RTL that language models write, and train them to write it better.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(problems.app, name="problems")
app.add_typer(bench.app, name="bench")
app.add_typer(demo.app, name="demo")
app.add_typer(runs.app, name="runs")
app.add_typer(train.app, name="train")
app.command("grade")(grade.grade)
app.command("doctor")(doctor.doctor)
app.command("eval")(eval.evaluate)
app.command("play")(play.play)
app.command("pretrain")(pretrain.pretrain)
app.command("report")(report.report)
app.command("serve")(serve.serve)
app.command("setup")(doctor.setup)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        typer.echo(f"rtl-agent {__version__}")
        raise typer.Exit


def run() -> None:
    """Run a command; what a user can meet ends in a sentence and an exit code, not in a traceback."""
    outlive_readers()
    try:
        app()
    except (BadRecord, NoSuchProblems, CannotGrade, RunError, UnknownName, PluginError) as error:
        console.say_error(str(error))
        sys.exit(console.BAD_INPUT)
    except (ToolMissing, SandboxError, ExecutorFault) as error:
        console.say_error(f"{error}\n`rtl-agent doctor` tells what else is missing.")
        sys.exit(console.OUR_FAULT)
    except ModuleNotFoundError as error:
        if (sentence := console.missing_package(error)) is None:
            raise
        console.say_error(sentence)
        sys.exit(console.BAD_INPUT)
    except KeyboardInterrupt:
        console.say_error("stopped")
        sys.exit(130)


if __name__ == "__main__":
    run()
