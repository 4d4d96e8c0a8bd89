"""The command line: `rtl-agent`. Thin: each command is a module beside this one."""

import io
import os
import sys
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

import typer

from rtl_agent import __version__
from rtl_agent.cli import (
    bench,
    console,
    demo,
    doctor,
    eval,
    evals,
    export,
    grade,
    grade_server,
    models,
    play,
    pretrain,
    problems,
    rerun,
    runs,
    serve,
    train,
    view,
)
from rtl_agent.cli.answers import BadAnswers
from rtl_agent.cli.keep import NotKept
from rtl_agent.cli.new_workspace import CannotWrite
from rtl_agent.grading import CannotGrade, ExecutorFault
from rtl_agent.problems import BadRecord, NoSuchProblems
from rtl_agent.registry import PluginError, UnknownName
from rtl_agent.runs import RunError
from rtl_agent.sandbox import SandboxError
from rtl_agent.toolchain import ToolMissing

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

app = typer.Typer(
    name="rtl-agent",
    help="Grade the RTL that language models write, and train them to write it better.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes leave the help text 24 of 80 columns, and cut words that are longer
    add_completion=False,
)
app.add_typer(problems.app, name="problems")
app.command("grade")(grade.grade)
app.command("rerun", short_help="Run again what failed in an answer that `grade --keep` kept.")(rerun.rerun)
app.add_typer(demo.app, name="demo", short_help="Watch a student learn RTL on this machine.")
app.add_typer(train.app, name="train", short_help="Train a model by reinforcement learning, distillation, or both.")
app.command("eval")(eval.evaluate)
app.add_typer(evals.app, name="evals")
app.command("play")(play.play)
app.add_typer(export.app, name="export", short_help="Write problems for other frameworks.")
app.add_typer(runs.app, name="runs")
app.command("report", short_help="Write report.html and curves/*.png into a run directory.")(runs.report)
app.command("view", short_help="Look at runs, rollouts and tests in the browser.")(view.view)
app.add_typer(models.app, name="models")
app.command("pretrain")(pretrain.pretrain)
app.command("serve", short_help="Serve a model over the Tinker and OpenAI APIs.")(serve.serve)
app.command("grade-server", short_help="Grade over HTTP, for trainers on other machines.")(grade_server.grade_server)
app.command("doctor", short_help="Show which tools were found, and whether the sandbox works.")(doctor.doctor)
app.command("setup", short_help="Install the missing EDA tools, in the versions that CVDP uses.")(doctor.setup)
app.add_typer(bench.app, name="bench")


_BAD_INPUT = (
    *(BadRecord, NoSuchProblems, BadAnswers, CannotGrade, CannotWrite, NotKept),
    *(RunError, UnknownName, PluginError),
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        typer.echo(f"rtl-agent {__version__}")
        raise typer.Exit


def run() -> None:
    """Run a command; what a user can meet ends in a sentence and an exit code, not in a traceback."""
    outlive_readers()
    try:
        app()
    except _BAD_INPUT as error:
        console.say_error(str(error))
        sys.exit(console.BAD_INPUT)
    except (ToolMissing, SandboxError, ExecutorFault) as error:
        console.say_error(f"{error}\n`rtl-agent doctor` lists everything that is missing.")
        sys.exit(console.OUR_FAULT)
    except ModuleNotFoundError as error:
        if (sentence := console.missing_package(error)) is None:
            raise
        console.say_error(sentence)
        sys.exit(console.BAD_INPUT)
    except SystemExit as ended:
        if ended.code == console.INTERRUPTED and _by_ctrl_c(ended):  # typer exits without a word
            console.say_error("interrupted")
        raise


def _by_ctrl_c(error: BaseException) -> bool:
    """Whether a KeyboardInterrupt is among the errors that this one was raised from."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
    return found is not None


class _Pipe(io.FileIO):
    """A stream whose reader may go away (`rtl-agent grade ... | head`): the rest is dropped, and the exit code stays.

    click and rich both end the process with code 1 as soon as a write fails, whatever the command found out. So no
    write may fail: below Python's buffers, where everything that is printed passes, a broken pipe becomes /dev/null.
    """

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(data)


def outlive_readers() -> None:
    """From now on nobody notices when the reader of stdout or stderr is gone."""
    sys.stdout = _outliving(sys.stdout)
    sys.stderr = _outliving(sys.stderr)


def _outliving(stream: TextIO) -> TextIO:
    """A stream as it was, over a file that no write to fails. Closed or replaced ones (a test's) are left alone."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    buffered = hasattr(stream.buffer, "raw")  # not with PYTHONUNBUFFERED
    if not isinstance(stream.buffer.raw if buffered else stream.buffer, io.FileIO):
        return stream
    stream.flush()
    raw = _Pipe(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw) if buffered else cast(BinaryIO, raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


if __name__ == "__main__":
    run()
