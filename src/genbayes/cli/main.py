"""The `genbayes` command: which commands there are, and what happens when one fails.

Exit codes: 0 done; 2 bad input, with one sentence on standard error; 130 stopped by Ctrl-C; 1 a fault of ours.
`--debug` or the environment variable GENBAYES_DEBUG=1 shows the traceback as well.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn, Protocol, runtime_checkable

import typer

import genbayes
from genbayes.cli import bench, design, infer
from genbayes.cli.compare import compare
from genbayes.cli.console import StoppedError, print_error, route_warnings
from genbayes.cli.demo import demo
from genbayes.cli.evaluate import evaluate
from genbayes.cli.fit import fit
from genbayes.cli.options import name_options
from genbayes.cli.predict import predict
from genbayes.cli.worker import worker
from genbayes.errors import GenBayesError

BAD_INPUT = 2
INTERRUPTED = 130  # what shells report for a process stopped by Ctrl-C
OUR_FAULT = 1
STOPPED = "stopped by Ctrl-C; no file was left half-written"

app = typer.Typer(
    name="genbayes",
    help="Surrogates for expensive simulators that return the whole predictive distribution.",
    epilog="Begin with: genbayes demo",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, fit, predict, evaluate, compare, worker):
    app.command()(command)
bench.mount(app)
app.add_typer(design.app, name="design")
app.add_typer(infer.app, name="infer")


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; works anywhere.")] = False,
) -> None:
    """Answer what needs no command."""
    if version:
        print(f"genbayes {genbayes.__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def run() -> NoReturn:
    """The entry point of the installed command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows ? instead of failing
    sys.exit(answer(sys.argv[1:]))


def answer(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code.

    Example:
        >>> answer(["--version"])
        genbayes ...
        0
    """
    words, debug = _take_debug(arguments)
    try:
        with warnings.catch_warnings():
            route_warnings()
            code = app(words, prog_name="genbayes", standalone_mode=False)
        sentence = STOPPED if code == INTERRUPTED else ""  # typer has caught Ctrl-C
    except Exception as error:
        if debug:
            traceback.print_exc()
        code, sentence = _explain(error, words)
    if sentence:
        print_error(sentence)
    return code or 0


def _take_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """The arguments without `--debug`, and whether a traceback is wanted; what follows `--` is not ours."""
    words = list(arguments)
    ours = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in ours or os.environ.get("GENBAYES_DEBUG", "0") not in ("", "0")
    return [word for word in ours if word != "--debug"] + words[len(ours) :], debug


def _explain(error: Exception, words: Sequence[str]) -> tuple[int, str]:
    """Exit code and sentence of an error that a command line of these words has met."""
    if isinstance(error, GenBayesError):
        return BAD_INPUT, name_options(str(error), _options_of(words), words)
    if isinstance(error, StoppedError):
        return INTERRUPTED, str(error)
    if isinstance(error, typer.Abort):  # Ctrl-C in older versions of typer
        return INTERRUPTED, STOPPED
    if isinstance(error, UsageError):
        return BAD_INPUT, _usage_sentence(error)
    fault = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return OUR_FAULT, f"genbayes failed ({fault}); please report it with what --debug shows"


def _options_of(words: Sequence[str]) -> list[str]:
    """The options of the command that the words name, but for one that is called like a positional argument."""
    command: Any = typer.main.get_command(app)
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    names = [name for parameter in command.params for name in parameter.opts]
    return [name for name in names if name.startswith("-") and name.removeprefix("--") not in names]


@runtime_checkable
class UsageError(Protocol):
    """A complaint of typer's, wherever its version keeps the class."""

    def format_message(self) -> str:
        """What is wrong."""


def _usage_sentence(error: UsageError) -> str:
    """A complaint of typer's as one sentence that says where to look."""
    sentence = error.format_message().strip().rstrip(".").replace(". Did you", "; did you")
    sentence = sentence[:1].lower() + sentence[1:]
    if sentence.endswith("?"):
        return sentence
    context = getattr(error, "ctx", None)
    return f"{sentence}; see {context.command_path if context else 'genbayes'} --help"
