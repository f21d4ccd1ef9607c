"""Running one of our R scripts: finding `Rscript`, time limits, and R's complaints as errors of ours.

R is started without a shell, reads nothing from the terminal, and is ended with all its workers when time is up or
the user interrupts.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from genbayes.errors import GenBayesError

__all__ = ["RFailed", "RMissing", "RTimedOut", "Spoken", "find_rscript", "run_script"]

# A user's start-up files may print, load packages or set seeds. Environment files are read: they name R's libraries.
OPTIONS = ("--no-save", "--no-restore", "--no-site-file", "--no-init-file")
NO_MESSAGE = "no message"


class RMissing(GenBayesError, ImportError):
    """R, or an R package, is not installed."""


class RFailed(GenBayesError, RuntimeError):
    """R stopped with an error, or answered with something else than was asked."""


class RTimedOut(GenBayesError, TimeoutError):
    """R did not finish in the time it was given."""


@dataclass(frozen=True)
class Spoken:
    """What an R script said before it ended.

    Attributes:
        code: Its exit code; negative where a signal ended it.
        output: What it printed.
        messages: Its warnings and errors.
    """

    code: int
    output: str
    messages: str

    def last_message(self) -> str:
        r"""The last line of the messages that says something.

        Example:
            >>> Spoken(1, "", "Error: no such file\nExecution halted\n").last_message()
            'Error: no such file'
        """
        lines = [line.strip() for line in self.messages.splitlines()]
        telling = [line for line in lines if line and line != "Execution halted"]
        return telling[-1] if telling else NO_MESSAGE


def find_rscript() -> str | None:
    """Where `Rscript` is, or None without R."""
    return shutil.which("Rscript")


def run_script(script: str, arguments: Sequence[str], folder: Path, timeout: float) -> Spoken:
    """Run a script of this folder in R, with `folder` as its working directory.

    Args:
        script: File name of the script.
        arguments: What the script gets, word by word.
        folder: Working directory of R.
        timeout: Seconds after which R is ended.

    Returns:
        Exit code, output and messages.
    """
    rscript = find_rscript()
    if rscript is None:
        raise RMissing(
            "Rscript must be on the PATH for genbayes_bench.rivals.r, got none; "
            "install R and the packages hetGP, deepgp, laGP"
        )
    with as_file(files(__package__) / script) as path:
        return _run([rscript, *OPTIONS, str(path), *arguments], folder, timeout)


def _run(command: list[str], folder: Path, timeout: float) -> Spoken:
    english = {**os.environ, "LANGUAGE": "en"}
    try:
        process = subprocess.Popen(
            command, cwd=folder, env=english, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        raise RFailed(f"Rscript must start, got {error.strerror or error} from {command[0]!r}") from error
    with process:
        try:
            output, messages = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            raise RTimedOut(
                f"timeout must leave R time to finish, got {timeout:g} seconds; raise it, or pass fewer runs"
            ) from None
        except BaseException:  # an interrupt of the user must not leave R running
            _end(process)
            raise
    return Spoken(process.returncode, *(text.decode("utf-8", errors="replace") for text in (output, messages)))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End R and the workers it may have started, which share its session."""
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
